package maintain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

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
		s.firePage(ctx, found, func(is outcome, err error) {
			switch is {
			case fired:
			case raced:
				left, others = left+1, true
			case waits:
				left++
			case stuck:
				left++
				errs = append(errs, err)
			}
		})
	}
	if others && (next < 0 || next > scheduleAgain) {
		next = scheduleAgain
	}
	return next, errors.Join(errs...)
}

// due computes which wall times of which zone are to be fired, and sets what comes next. Those that were due when the
// expression or the zone changed come first, by the former ones.
func (s *Scheduler) due(now time.Time, f *store.ScheduleFire) (due cronline.Due, zone string, err error) {
	from := store.Overdue{Cron: f.Cron, Zone: f.Zone, Wall: f.NextWall, Until: now}
	former := len(f.Overdue) > 0
	switch {
	case f.Paused:
		return due, f.Zone, nil // only triggered
	case former:
		from = f.Overdue[0]
	case f.NextAt.IsZero() || f.NextAt.After(now):
		return due, f.Zone, nil
	}
	var c cronline.Clock
	if c.Line, err = cronline.Parse(from.Cron, f.Name); err != nil {
		return due, "", err
	}
	if c.Zone, err = cronline.LoadZone(from.Zone); err != nil {
		return due, "", err
	}
	wall, err := time.Parse(cronline.Format, from.Wall)
	if err != nil {
		return due, "", fmt.Errorf("read the next wall time of the schedule %q: %w", f.Name, err)
	}
	due = c.DueUntil(wall, from.Until, now, cronline.Misfire(f.Misfire), scheduleTasks)
	next := due.Next.Wall.Format(cronline.Format)
	switch {
	case former && !due.Ended && !due.Next.At.After(from.Until): // there are more than fit into a transaction
		f.Overdue = slices.Clone(f.Overdue)
		f.Overdue[0].Wall = next
	case former:
		f.Overdue = slices.Clone(f.Overdue[1:])
	case due.Ended:
		f.NextAt, f.NextWall = time.Time{}, ""
	default:
		f.NextAt, f.NextWall = due.Next.At, next
	}
	return due, from.Zone, nil
}

// tasks makes the tasks of a fire. An error is permanent.
func (s *Scheduler) tasks(f *store.ScheduleFire, m made) error {
	for _, at := range m.fires {
		t, err := s.Kinds[f.Kind].Scheduled(&f.Schedule)
		if err != nil {
			return err
		}
		t.ID, t.IdempotencyKey = store.NewID(), store.ScheduleKey(f.Name, at.wall, at.zone)
		t.Reason = fmt.Sprintf("schedule %s at %s", f.Name, at)
		f.Tasks = append(f.Tasks, t)
		f.LastWall = at.wall
	}
	if m.triggered {
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
		if len(m.fires) == 0 {
			f.LastWall = ""
		}
		f.Triggered, f.TriggeredBy, f.TriggerReason = false, uuid.Nil, ""
	}
	if n := len(f.Tasks); n > 0 {
		f.LastTask, f.Secrets = f.Tasks[n-1].ID, &f.Tasks[n-1].Secrets
		f.LastError, f.LastErrorAt = "", time.Time{}
	}
	return nil
}
