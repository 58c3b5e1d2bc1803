package maintain

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/cronline"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// outcome is what became of a schedule that was due.
type outcome int

const (
	fired outcome = iota
	raced         // another worker does it, or the schedule has changed
	waits         // it waits for the end of its last task
	stuck         // it stays due
)

// firing is what is to be done about a schedule that is due.
type firing struct {
	store.ScheduleFire
	before *store.Schedule
	due    cronline.Due
	lag    time.Duration // how late the last of these fires is
	made   made
	failed error // its tasks could not be made
}

// scheduleBytes bounds the specs that are stored in one transaction with other schedules.
const scheduleBytes = 1 << 20

// firePage fires a page of schedules, as many as it can in one transaction, and reports what
// became of each.
func (s *Scheduler) firePage(ctx context.Context, found store.SchedulesFound, became func(outcome, error)) {
	var (
		together    []*firing
		tasks, size int
	)
	flush := func() {
		s.fireTogether(ctx, together, became)
		together, tasks, size = nil, 0, 0
	}
	for i := range found.Due {
		if ctx.Err() != nil {
			return
		}
		f, is := s.prepare(ctx, found.Now, &found.Due[i])
		switch {
		case is != fired:
			became(is, nil)
			continue
		case f.failed != nil:
			became(s.fire(ctx, f))
			continue
		}
		together, tasks, size = append(together, f), tasks+len(f.Tasks), size+len(f.Tasks)*len(f.Spec)
		if tasks >= scheduleTasks || size >= scheduleBytes {
			flush()
		}
	}
	flush()
}

// fireTogether fires schedules in one transaction. Where one of them spoils that, each is
// fired alone.
func (s *Scheduler) fireTogether(ctx context.Context, all []*firing, became func(outcome, error)) {
	if len(all) > 1 {
		fires := make([]store.ScheduleFire, len(all))
		for i, f := range all {
			fires[i] = f.ScheduleFire
		}
		cctx, cancel := context.WithTimeout(ctx, s.Call)
		done, err := s.Store.FireSchedules(cctx, fires)
		cancel()
		if err == nil {
			for i, f := range all {
				if !done[i] {
					became(raced, nil)
					continue
				}
				s.report(&f.ScheduleFire, f)
				became(fired, nil)
			}
			return
		}
	}
	for _, f := range all {
		if ctx.Err() != nil {
			return
		}
		became(s.fire(ctx, f))
	}
}

// prepare computes what is to be done about a schedule that is due. It is nothing unless the
// outcome is fired.
func (s *Scheduler) prepare(ctx context.Context, now time.Time, sc *store.Schedule) (*firing, outcome) {
	f := &firing{ScheduleFire: store.ScheduleFire{Schedule: *sc, Former: sc.LastTask}, before: sc}
	due, zone, err := s.due(now, &f.ScheduleFire)
	if err != nil {
		// Another worker may know the zone, or read the expression.
		s.Events.Report(taskevent.ScheduleFailed{Worker: s.Events.Worker, Schedule: sc.Name, Kind: sc.Kind, Err: err})
		return nil, stuck
	}
	m := overlap(&f.ScheduleFire, due, zone)
	if m.none() && due.Missed == nil && f.Buffered == sc.Buffered && f.NextAt.Equal(sc.NextAt) && f.NextWall == sc.NextWall && len(f.Overdue) == len(sc.Overdue) {
		return nil, waits
	}
	f.due, f.made = due, m
	if n := len(due.Fires); n > 0 {
		f.lag = now.Sub(due.Fires[n-1].At)
	}
	// Types of the user are decoded and encoded, which may panic.
	if panicked := <-session.RunIsolated(ctx, func(context.Context) error { f.failed = s.tasks(&f.ScheduleFire, m); return nil }); panicked != nil {
		f.failed = panicked
	}
	return f, fired
}

// fire stores the tasks of a schedule, or why there are none.
func (s *Scheduler) fire(ctx context.Context, p *firing) (outcome, error) {
	f, due, m, sc, err := p.ScheduleFire, p.due, p.made, p.before, p.failed
	if err == nil {
		var done bool
		done, err = s.commit(ctx, f)
		switch {
		case err == nil && done:
			s.report(&f, p)
			return fired, nil
		case err == nil:
			return raced, nil
		case !classify.Classify(ctx, err).OfItem:
			return stuck, err
		}
	}
	// It will not get better: the next wall time is another chance.
	f.Tasks, f.LastError, f.LastErrorAt = nil, classify.Detail(err), time.Time{}
	if m.triggered {
		f.Triggered, f.TriggeredBy, f.TriggerReason = false, uuid.Nil, ""
	}
	f.LastWall, f.LastTask, f.Secrets = sc.LastWall, sc.LastTask, sc.Secrets
	done, again := s.commit(ctx, f)
	switch {
	case again != nil:
		return stuck, again
	case !done:
		return raced, nil
	}
	s.reportMissed(&f, due, 0)
	s.reportSkipped(&f, m)
	failed := taskevent.ScheduleFailed{Worker: s.Events.Worker, Schedule: sc.Name, Kind: sc.Kind, Err: err}
	for _, at := range m.fires {
		failed.Wall = at.wall
		s.Events.Report(failed)
	}
	if len(m.fires) == 0 {
		failed.Wall = sc.NextWall
		s.Events.Report(failed)
	}
	return fired, nil
}

// commit stores a fire.
func (s *Scheduler) commit(ctx context.Context, f store.ScheduleFire) (bool, error) {
	cctx, cancel := context.WithTimeout(ctx, s.Call)
	defer cancel()
	return s.Store.FireSchedule(cctx, f)
}

// report reports a committed fire: f is the fire as it was stored, and p what it was made from.
func (s *Scheduler) report(f *store.ScheduleFire, p *firing) {
	due, m, before := p.due, p.made, p.before
	submitted := 0
	if due.Missed != nil {
		for _, at := range m.fires {
			if wall, err := time.Parse(cronline.Format, at.wall); err == nil && !wall.After(due.Missed[1].Wall) {
				submitted++
			}
		}
	}
	s.reportMissed(f, due, submitted)
	s.reportSkipped(f, m)
	if len(f.Tasks) == 0 {
		return
	}
	if before.Alternations >= alternates && before.Modified.After(before.LastAt) {
		s.Events.Report(taskevent.ScheduleAlternates{Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Changes: before.Alternations, Modified: before.Modified})
	}
	e := taskevent.ScheduleFired{Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Wall: f.LastWall, Triggered: m.triggered, Lag: p.lag}
	for i := range f.Tasks {
		if id := f.Tasks[i].ID; id != uuid.Nil {
			e.Tasks = append(e.Tasks, id)
			continue
		}
		skipped := taskevent.ScheduleSkipped{Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Policy: "unique key"}
		if i < len(m.fires) {
			skipped.Wall = m.fires[i].wall
		}
		s.Events.Report(skipped)
	}
	if len(e.Tasks) > 0 {
		s.Events.Report(e)
		s.Wake()
	}
}

// alternates is how often a definition must have been set back to the one before until it is reported: once may be
// a release that was taken back.
const alternates = 2

// reportMissed reports the fires that were late.
func (s *Scheduler) reportMissed(f *store.ScheduleFire, due cronline.Due, submitted int) {
	if m := due.Missed; m != nil {
		s.Events.Report(taskevent.ScheduleMissed{
			Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Policy: f.Misfire,
			First: m[0].Wall.Format(cronline.Format), Last: m[1].Wall.Format(cronline.Format), Submitted: submitted,
		})
	}
}

// reportSkipped reports the fires that have no task because of an earlier one.
func (s *Scheduler) reportSkipped(f *store.ScheduleFire, m made) {
	for _, at := range m.skipped {
		s.Events.Report(taskevent.ScheduleSkipped{Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Wall: at.wall, Policy: f.Overlap, Task: f.Former})
	}
}
