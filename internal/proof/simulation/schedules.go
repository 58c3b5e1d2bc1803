package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Schedule is one of a plan.
type Schedule struct {
	Name    string
	Every   int // minutes
	Misfire string
	// Broken: its spec cannot be read, and no task can be made from it.
	Broken bool
	Task   Task
}

// The intervals of schedules, in minutes. Those that divide an hour are those of a cron line.
var intervals = []int{20, 30, 60, 45, 90}

// wallFormat is how a wall time is written.
const wallFormat = "2006-01-02 15:04"

// drawSchedules adds schedules to some plans. It draws from a generator of its own, so that the other plans stay as they
// are. The store's clock is set so that one fires soon. With windows it jumps so far that there would be too many tasks.
func (p *Plan) drawSchedules(r *rand.Rand) {
	d := familyDrawer{r: r, id: firstScheduleID}
	if len(p.Windows) > 0 || !d.maybe(0.25) {
		return
	}
	for i := range d.in(1, 3) {
		s := Schedule{
			Name: fmt.Sprint("schedule ", i), Every: intervals[d.in(0, len(intervals)-1)],
			Misfire: []string{"once", "all", "forget"}[d.in(0, 2)], Broken: d.maybe(0.1), Task: d.task([]string{kindMove, kindTidy, kindCount, kindRemote}[d.in(0, 3)]),
		}
		s.Task.Items = d.in(0, 3)
		p.Schedules = append(p.Schedules, s)
	}
	p.EditEvery = time.Duration(d.in(1000, 6000)) * time.Millisecond
	p.Boundaries = time.Duration(d.in(3000, 9000)) * time.Millisecond
	p.Clock = nextFire(midnight, p.Schedules[0].Every).Sub(midnight) - time.Duration(d.in(500, 10_000))*time.Millisecond
}

// firstScheduleID is the first byte of the id of the first task of a schedule. Those of other tasks are less.
const firstScheduleID = 240

// nextFire returns the first fire after a time.
func nextFire(at time.Time, every int) time.Time {
	step := int64(every) * 60
	return time.Unix((at.Unix()/step+1)*step, 0).UTC()
}

// cron is a cron expression.
func cron(every int) string {
	switch {
	case every == 60:
		return "0 * * * *"
	case every < 60 && 60%every == 0:
		return fmt.Sprintf("*/%d * * * *", every)
	}
	return fmt.Sprintf("@every %dm", every)
}

// errNoSpec is why no task can be made from a broken schedule.
var errNoSpec = errors.New("simulated: the spec of the schedule cannot be read")

// scheduled makes a task of a schedule.
func (w *env) scheduled(s *store.Schedule) (n store.NewTask, err error) {
	p := w.schedule(s.Name)
	if p.Broken {
		return n, errNoSpec
	}
	t := &p.Task
	return store.NewTask{
		Submitted: store.Submitted{Kind: t.Kind, Owner: uuid.Max, RunAs: uuid.Max, Queue: queueDefault},
		Revision:  1, Spec: t.spec(), Priority: 2, Total: -1, Ledger: keepsLedger(t.Kind),
	}, nil
}

func (w *env) schedule(name string) *Schedule {
	return &w.plan.Schedules[slices.IndexFunc(w.plan.Schedules, func(s Schedule) bool { return s.Name == name })]
}

// fire is what the simulation knows of a fire that was committed.
type fire struct {
	before store.Schedule // as it was in the store
	store.ScheduleFire

	nows []time.Time // when it was due for the worker, by the store's clock
}

// DueSchedules implements [store.Upkeep].
func (n *node) DueSchedules(ctx context.Context, p store.DueSchedules) (store.SchedulesFound, error) {
	return do(ctx, n, "DueSchedules", func(ctx context.Context) (store.SchedulesFound, error) {
		found, err := n.db.DueSchedules(ctx, p)
		n.state.Lock()
		defer n.state.Unlock()
		for i := range found.Due {
			key := fmt.Sprint(found.Due[i].ID, found.Due[i].Version)
			n.due[key] = append(n.due[key], found.Now)
		}
		return found, err
	})
}

// FireSchedule implements [store.Upkeep].
func (n *node) FireSchedule(ctx context.Context, f store.ScheduleFire) (bool, error) {
	return do(ctx, n, "FireSchedule", func(ctx context.Context) (bool, error) {
		fired, err := n.firing(ctx, []store.ScheduleFire{f}, func() ([]bool, error) {
			done, err := n.db.FireSchedule(ctx, f)
			return []bool{done}, err
		})
		return fired[0], err
	})
}

// FireSchedules implements [store.Upkeep].
func (n *node) FireSchedules(ctx context.Context, fires []store.ScheduleFire) ([]bool, error) {
	return do(ctx, n, "FireSchedule", func(ctx context.Context) ([]bool, error) {
		return n.firing(ctx, fires, func() ([]bool, error) { return n.db.FireSchedules(ctx, fires) })
	})
}

// firing notes what becomes of fires that call makes.
func (n *node) firing(ctx context.Context, fires []store.ScheduleFire, call func() ([]bool, error)) ([]bool, error) {
	n.scheduling.Lock()
	defer n.scheduling.Unlock()
	before := make([]store.Schedule, len(fires))
	for i, f := range fires {
		for _, t := range f.Tasks {
			n.mu.Lock()
			n.byID[t.ID] = &n.schedule(f.Name).Task
			n.mu.Unlock()
		}
		before[i], _ = n.mem.Schedule(ctx, f.Name) // none: it does not fire
	}
	fired, err := call()
	for i, f := range fires {
		done := err == nil && fired[i]
		n.say("%s fires %s at version %d with %d tasks, next %s: %t", n.label, f.Name, f.Version, len(f.Tasks), f.NextWall, done)
		if done {
			n.count("schedule fired")
			n.state.Lock()
			nows := n.due[fmt.Sprint(f.ID, f.Version)]
			n.state.Unlock()
			n.fires = append(n.fires, fire{before[i], f, nows})
		}
	}
	return fired, err
}

// ChangeSchedule implements [store.Requests].
func (n *node) ChangeSchedule(ctx context.Context, name string, change func(now time.Time, s *store.Schedule) error) (store.Schedule, error) {
	return do(ctx, n, "ChangeSchedule", func(ctx context.Context) (store.Schedule, error) {
		n.scheduling.Lock()
		defer n.scheduling.Unlock()
		return n.db.ChangeSchedule(ctx, name, change)
	})
}

// setSchedule stores a schedule as a program that starts does: with another interval it fires next at the first time of that.
func (n *node) setSchedule(ctx context.Context, p *Schedule, every int) error {
	_, err := n.ChangeSchedule(ctx, p.Name, func(now time.Time, s *store.Schedule) error {
		s.Kind, s.Revision, s.Spec, s.Misfire, s.Priority, s.Owner, s.RunAs = p.Task.Kind, 1, p.Task.spec(), p.Misfire, 2, uuid.Max, uuid.Max
		if s.Cron != cron(every) {
			next := nextFire(now, every)
			s.Cron, s.NextAt, s.NextWall = cron(every), next, next.Format(wallFormat)
		}
		return nil
	})
	return err
}

// edits lets programs set the schedules, and an operator pause, resume, trigger, change and delete them, until ctx ends.
func (w *env) edits(ctx context.Context) {
	n := w.node("operator")
	for i := range w.plan.Schedules {
		for s := &w.plan.Schedules[i]; n.setSchedule(context.WithoutCancel(ctx), s, s.Every) != nil; {
			pass(w.between(0, 100*time.Millisecond))
		}
	}
	if w.plan.EditEvery == 0 {
		return
	}
	for sleep(ctx, w.wait(w.plan.EditEvery)) == nil {
		s := &w.plan.Schedules[w.pick(len(w.plan.Schedules))]
		every, what := intervals[w.pick(len(intervals))], w.pick(10)
		cctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		switch {
		case what < 2:
			w.count("schedule changed")
			_ = n.setSchedule(cctx, s, every)
		case what == 2:
			w.count("schedule deleted")
			_ = act(cctx, n, "DeleteSchedule", func(ctx context.Context) error { return n.db.DeleteSchedule(ctx, s.Name, uuid.Max, "because") })
		default:
			_, _ = n.ChangeSchedule(cctx, s.Name, func(_ time.Time, s *store.Schedule) error {
				if s.Version == 0 {
					return store.ErrNoSchedule
				}
				switch {
				case what < 5:
					w.count("schedule paused")
					s.Paused = true
				case what < 8:
					w.count("schedule resumed")
					s.Paused = false
				default:
					w.count("schedule triggered")
					s.Triggered = true
				}
				return nil
			})
		}
		cancel()
	}
}

// dueSchedules are the schedules that are due, for which the end waits. One that is paused may be triggered.
func (w *env) dueSchedules() (left []string) {
	if len(w.plan.Schedules) == 0 {
		return nil
	}
	all, err := w.mem.ListSchedules(context.Background(), "", 100)
	if err != nil {
		return []string{err.Error()}
	}
	now := w.mem.Now()
	for i := range all {
		if s := &all[i]; s.Triggered || !s.Paused && !s.NextAt.After(now) {
			left = append(left, fmt.Sprintf("I7: %s is due since %v, triggered: %t", s.Name, s.NextAt, s.Triggered))
		}
	}
	return left
}

// checkSchedules checks that each wall time has one task at most, and that each fire has stored the tasks of the wall times that
// were due, by the policy for those that were missed.
func (w *env) checkSchedules() (bad []string) {
	w.scheduling.Lock()
	defer w.scheduling.Unlock()
	stored := make(map[string]int)
	log := w.mem.Log()
	for i := range log {
		if c := &log[i]; c.Before == nil && strings.HasPrefix(c.After.IdempotencyKey, scheduleKey) {
			if stored[c.After.IdempotencyKey]++; stored[c.After.IdempotencyKey] > 1 {
				bad = append(bad, fmt.Sprintf("two tasks have the key %s (commit %d)", c.After.IdempotencyKey, c.Commit))
			}
		}
	}
	for i := range w.fires {
		f := &w.fires[i]
		var got []string
		for i := range f.Tasks {
			key := f.Tasks[i].IdempotencyKey
			got = append(got, key)
			if key != "" && stored[key] == 0 {
				bad = append(bad, fmt.Sprintf("%s fired at version %d, and its task %s is not there", f.Name, f.Version, key))
			}
		}
		explained := slices.ContainsFunc(f.nows, func(now time.Time) bool {
			keys, next, missed := w.expected(&f.before, now)
			if missed > 0 {
				w.count("fires of a schedule missed: " + f.before.Misfire)
			}
			return slices.Equal(got, keys) && f.NextWall == next && !f.Triggered
		})
		if !explained {
			bad = append(bad, fmt.Sprintf("%s (%s, %s, paused: %t, triggered: %t, next %s) fired %v at one of %v, and fires next at %s",
				f.Name, f.before.Cron, f.before.Misfire, f.before.Paused, f.before.Triggered, f.before.NextWall, got, f.nows, f.NextWall))
		}
	}
	slices.Sort(bad)
	return bad
}

const scheduleKey = "taskkit.schedule."

// expected returns what a schedule must fire at a time: the keys of the tasks, "" for that of a trigger, and its next wall
// time. Missed is how many fires are late by more than a minute.
func (w *env) expected(s *store.Schedule, now time.Time) (keys []string, next string, missed int) {
	at := slices.IndexFunc(intervals, func(every int) bool { return cron(every) == s.Cron })
	wall, err := time.Parse(wallFormat, s.NextWall)
	if at < 0 || err != nil {
		return nil, fmt.Sprintf("%q %v", s.Cron, err), 0
	}
	key := func(wall time.Time) string { return scheduleKey + s.Name + "@" + wall.Format(wallFormat) + " UTC" }
	var late, onTime []string
	for ; !s.Paused && !wall.After(now); wall = nextFire(wall, intervals[at]) {
		if now.Sub(wall) > time.Minute {
			late = append(late, key(wall))
		} else {
			onTime = append(onTime, key(wall))
		}
	}
	keys = onTime
	switch {
	case s.Misfire == "all":
		keys = slices.Concat(late, onTime)
	case s.Misfire == "once" && len(onTime) == 0 && len(late) > 0:
		keys = late[len(late)-1:]
	}
	if s.Triggered {
		keys = append(keys, "")
	}
	if w.schedule(s.Name).Broken {
		keys = nil
	}
	return keys, wall.Format(wallFormat), len(late)
}
