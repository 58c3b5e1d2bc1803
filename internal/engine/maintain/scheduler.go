package maintain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/cronline"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// schedulePage is how many schedules are read at once.
	schedulePage = 100
	// scheduleTasks is how many tasks of one schedule are stored in one transaction. Each is a
	// statement: with more of them, a transaction over a slow connection would never end within
	// the timeout of a call, and the schedule would stay where it is.
	scheduleTasks = 100
	// scheduleAgain is when a worker looks again whose schedules others had locked.
	scheduleAgain = time.Second
)

// Scheduler submits the tasks of schedules that are due. Every worker has one. It reads the due schedules without a lock,
// computes their tasks, and stores these if the schedule has not changed since: so only one worker fires, and another takes
// over from one that was killed. It runs on one goroutine.
type Scheduler struct {
	Store  store.Upkeep
	Kinds  map[string]*session.Kind
	Every  time.Duration // 0: never
	Call   time.Duration // timeout of one call
	Wake   func()        // wakes the claimer
	Events *observe.Observer
}

// Run fires what is due until ctx ends. It sleeps until the next schedule is due, and looks
// for new ones meanwhile.
func (s *Scheduler) Run(ctx context.Context) {
	if s.Every <= 0 {
		return
	}
	// A worker that starts has other things to do first.
	t := time.NewTimer(s.Every/4 + rand.N(s.Every/8+1))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		next, err := s.Pass(ctx)
		if err != nil && ctx.Err() == nil {
			s.Events.Report(taskevent.CallFailed{Worker: s.Events.Worker, Call: taskevent.CallSchedules, Try: 1, Err: err})
		}
		wait := s.Every - rand.N(s.Every/4+1)
		if next >= 0 {
			wait = min(wait, next+time.Millisecond+rand.N(20*time.Millisecond))
		}
		t.Reset(wait)
	}
}

// Pass fires what is due, and returns how long until something else is; negative: nothing will
// be. A schedule that cannot be fired here keeps no other from being fired.
func (s *Scheduler) Pass(ctx context.Context) (next time.Duration, err error) {
	kinds := make(map[string][]int, len(s.Kinds))
	for name, k := range s.Kinds {
		kinds[name] = k.Reads
	}
	var (
		errs   []error
		left   int // schedules that stay due
		others bool
	)
	for ctx.Err() == nil {
		cctx, cancel := context.WithTimeout(ctx, s.Call)
		found, err := s.Store.DueSchedules(cctx, store.DueSchedules{Kinds: kinds, Skip: left, Limit: schedulePage})
		cancel()
		if err != nil {
			return -1, errors.Join(append(errs, err)...)
		}
		if len(found.Due) == 0 {
			next = found.Next
			break
		}
		// Other workers read the same page.
		rand.Shuffle(len(found.Due), func(i, j int) { found.Due[i], found.Due[j] = found.Due[j], found.Due[i] })
		for i := range found.Due {
			if ctx.Err() != nil {
				break
			}
			switch is, err := s.fire(ctx, found.Now, &found.Due[i]); is {
			case fired:
			case raced:
				left, others = left+1, true
			case stuck:
				left++
				errs = append(errs, err)
			}
		}
	}
	if others && (next < 0 || next > scheduleAgain) {
		next = scheduleAgain
	}
	return next, errors.Join(errs...)
}

// outcome is what became of a schedule that was due.
type outcome int

const (
	fired outcome = iota
	raced         // another worker does it, or the schedule has changed
	stuck         // it stays due
)

// fire does what is to be done about a schedule that is due.
func (s *Scheduler) fire(ctx context.Context, now time.Time, sc *store.Schedule) (outcome, error) {
	f := store.ScheduleFire{Schedule: *sc}
	due, err := s.due(now, &f)
	if err != nil {
		// Another worker may know the zone, or read the expression.
		s.Events.Report(taskevent.ScheduleFailed{Worker: s.Events.Worker, Schedule: sc.Name, Kind: sc.Kind, Err: err})
		return stuck, nil //nolint:nilerr // it is reported, and no failure of the database
	}
	// Types of the user are decoded and encoded, which may panic.
	if panicked := <-session.RunIsolated(ctx, func(context.Context) error { err = s.tasks(&f, due); return nil }); panicked != nil {
		err = panicked
	}
	if err == nil {
		var done bool
		done, err = s.commit(ctx, f)
		switch {
		case err == nil && done:
			s.report(&f, due, sc)
			return fired, nil
		case err == nil:
			return raced, nil
		case !classify.Classify(ctx, err).OfItem:
			return stuck, err
		}
	}
	// It will not get better: the next wall time is another chance.
	f.Tasks, f.LastError, f.LastErrorAt = nil, classify.Detail(err), time.Time{}
	f.Triggered, f.TriggeredBy, f.TriggerReason = false, uuid.Nil, ""
	f.LastWall, f.LastTask, f.Secrets = sc.LastWall, sc.LastTask, sc.Secrets
	done, again := s.commit(ctx, f)
	switch {
	case again != nil:
		return stuck, again
	case !done:
		return raced, nil
	}
	s.Events.Report(taskevent.ScheduleFailed{Worker: s.Events.Worker, Schedule: sc.Name, Kind: sc.Kind, Wall: sc.NextWall, Err: err})
	return fired, nil
}

// commit stores a fire.
func (s *Scheduler) commit(ctx context.Context, f store.ScheduleFire) (bool, error) {
	cctx, cancel := context.WithTimeout(ctx, s.Call)
	defer cancel()
	return s.Store.FireSchedule(cctx, f)
}

// due computes which wall times are to be fired, and sets what comes next.
func (s *Scheduler) due(now time.Time, f *store.ScheduleFire) (due cronline.Due, err error) {
	if f.Paused || f.NextAt.IsZero() || f.NextAt.After(now) {
		return due, nil // only triggered
	}
	var c cronline.Clock
	if c.Line, err = cronline.Parse(f.Cron, f.Name); err != nil {
		return due, err
	}
	if c.Zone, err = cronline.LoadZone(f.Zone); err != nil {
		return due, err
	}
	wall, err := time.Parse(cronline.Format, f.NextWall)
	if err != nil {
		return due, fmt.Errorf("read the next wall time of the schedule %q: %w", f.Name, err)
	}
	due = c.Due(wall, now, cronline.Misfire(f.Misfire), scheduleTasks)
	f.NextAt, f.NextWall = due.Next.At, due.Next.Wall.Format(cronline.Format)
	if due.Ended {
		f.NextAt, f.NextWall = time.Time{}, ""
	}
	return due, nil
}

// tasks makes the tasks of a fire. An error is permanent.
func (s *Scheduler) tasks(f *store.ScheduleFire, due cronline.Due) error {
	zone := f.Zone
	if zone == "" {
		zone = "UTC"
	}
	for _, d := range due.Fires {
		t, err := s.Kinds[f.Kind].Scheduled(&f.Schedule)
		if err != nil {
			return err
		}
		wall := d.Wall.Format(cronline.Format)
		t.ID, t.IdempotencyKey = store.NewID(), store.ScheduleKey(f.Name, wall, f.Zone)
		t.Reason = fmt.Sprintf("schedule %s at %s %s", f.Name, wall, zone)
		f.Tasks = append(f.Tasks, t)
		f.LastWall = wall
	}
	if f.Triggered {
		t, err := s.Kinds[f.Kind].Scheduled(&f.Schedule)
		if err != nil {
			return err
		}
		t.ID, t.Actor = store.NewID(), f.TriggeredBy
		t.Reason = fmt.Sprintf("schedule %s, triggered", f.Name)
		if f.TriggerReason != "" {
			t.Reason += ": " + f.TriggerReason
		}
		f.Tasks = append(f.Tasks, t)
		if len(due.Fires) == 0 {
			f.LastWall = ""
		}
	}
	f.Triggered, f.TriggeredBy, f.TriggerReason = false, uuid.Nil, ""
	if n := len(f.Tasks); n > 0 {
		f.LastTask, f.Secrets = f.Tasks[n-1].ID, &f.Tasks[n-1].Secrets
		f.LastError, f.LastErrorAt = "", time.Time{}
	}
	return nil
}

// report reports a fire that is committed.
func (s *Scheduler) report(f *store.ScheduleFire, due cronline.Due, before *store.Schedule) {
	if m := due.Missed; m != nil {
		e := taskevent.ScheduleMissed{
			Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Policy: f.Misfire,
			First: m[0].Wall.Format(cronline.Format), Last: m[1].Wall.Format(cronline.Format),
		}
		for _, d := range due.Fires {
			if !d.Wall.After(m[1].Wall) {
				e.Submitted++
			}
		}
		s.Events.Report(e)
	}
	if len(f.Tasks) == 0 {
		return
	}
	e := taskevent.ScheduleFired{Worker: s.Events.Worker, Schedule: f.Name, Kind: f.Kind, Wall: f.LastWall, Triggered: before.Triggered}
	for i := range f.Tasks {
		e.Tasks = append(e.Tasks, f.Tasks[i].ID)
	}
	s.Events.Report(e)
	s.Wake()
}
