package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/store"
)

const (
	// patience is how long after the last fault every task must have ended. Each task over a
	// frozen set may take as long: in quarantine it runs half a batch item by item, one task
	// after the other.
	patience = 3 * time.Minute
	// deadAfter is how long a worker may be silent.
	deadAfter = 3 * time.Second
	// maxAttempts is how often a batch is tried.
	maxAttempts = 4
	// batchTimeout is how long a batch may take, and pollListening how often a worker polls that has notifications.
	batchTimeout, pollListening = 2 * time.Second, 2 * time.Second
)

// Report is what came of one seed.
type Report struct {
	Seed       uint64         `json:"seed"`
	Hash       uint64         `json:"hash"` // of the trace
	Violations []string       `json:"violations,omitempty"`
	Seen       map[string]int `json:"seen"`
	Changes    int            `json:"changes"`
	Touches    int            `json:"touches"`
}

// Options say how a seed is run.
type Options struct {
	Mutant string       // the name of one of [Mutants]; "": none
	Trace  func(string) // takes the lines of the trace, one at a time; nil: nobody
}

// Run simulates one seed. It must be called in a synctest bubble.
func Run(seed uint64, o Options) Report {
	w := newEnv(seed)
	w.trace = o.Trace
	for _, m := range Mutants() {
		if m.Name == o.Mutant {
			w.db = m.wrap(w.mem)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range w.plan.Workers {
		running.Go(func() { w.keepWorker(ctx, fmt.Sprint("worker ", i), i%2 == 0) })
	}
	chaos, calm := context.WithTimeout(context.Background(), w.plan.Chaos)
	var faults sync.WaitGroup
	faults.Go(func() { w.submits(context.WithoutCancel(chaos)) })
	faults.Go(func() { w.asks(chaos) })
	faults.Go(func() { w.jumps(chaos) })
	faults.Go(func() { w.boundaries(chaos) })
	faults.Go(func() { w.health(chaos) })
	faults.Go(func() { w.pauses(chaos) })
	faults.Go(func() { w.edits(chaos) })
	faults.Wait()
	calm()
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.say("calm")

	w.stopsInPausedQueue(context.Background())
	bad := w.waitForEnds()
	if len(bad) == 0 {
		w.deriveAtEnd()
		w.retryParentsAtEnd()
		bad = w.waitForEnds()
	}
	if len(bad) == 0 {
		bad = w.lateParent(context.Background())
		bad = append(bad, w.waitForEnds()...)
	}
	end()
	running.Wait()
	// What was abandoned ends by itself: late calls, executors that ignore
	// their context.
	pass(20 * time.Second)
	bad = append(bad, w.check(context.Background())...)
	for _, v := range bad {
		w.say("VIOLATION %s", v)
	}
	poison := w.takenForPoison(context.Background())
	w.mu.Lock()
	defer w.mu.Unlock()
	if poison > 0 {
		w.seen["taken for a poison task"] += poison
	}
	return Report{
		Seed: seed, Hash: w.hash.Sum64(), Violations: bad, Seen: w.seen,
		Changes: len(w.mem.Log()), Touches: len(w.mem.Rows()),
	}
}

// config is a worker's, with times that are short beside the faults.
func (n *node) config() engine.Config {
	w, label := n.env, n.label
	log := slog.New(slog.DiscardHandler)
	if w.trace != nil {
		log = slog.New(slog.NewTextHandler(lines{w, label}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	queues := []string{queueDefault}
	if w.plan.PauseEvery > 0 {
		queues = append(queues, queueNight)
	}
	c := engine.Config{
		Config: session.Config{
			Throttle: n.throttle(), BatchTimeout: batchTimeout, BatchTarget: time.Second,
			Quantum: 2 * time.Second, Heartbeat: 500 * time.Millisecond, MeasureEvery: 200 * time.Millisecond,
			Call: time.Second, LockTimeout: 500 * time.Millisecond, MaxAttempts: maxAttempts,
			Backoff: classify.Backoff{Base: 100 * time.Millisecond, Cap: time.Second},
		},
		System: label, Version: "simulated", Queues: queues, Slots: w.plan.Slots, SafeMode: n.safeMode,
		Drain: 3 * time.Second, DeadAfter: deadAfter, Poll: 500 * time.Millisecond,
		PollListening: pollListening, SpecMax: 1 << 10, Log: log,
	}
	if len(w.plan.Schedules) > 0 {
		c.ScheduleEvery = time.Second
	}
	return c
}

// lines puts a worker's log into the trace that somebody reads along. It takes
// no part in the hash: its lines name processes and times of day.
type lines struct {
	w     *env
	label string
}

// Write implements [io.Writer].
func (l lines) Write(b []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.trace(fmt.Sprintf("%v %s log: %s", time.Since(l.w.began), l.label, b))
	return len(b), nil
}

// keepWorker keeps one worker running: it is killed, stopped and restarted until ctx
// ends, and then leaves in order.
func (w *env) keepWorker(ctx context.Context, label string, all bool) {
	var dead sync.WaitGroup // the killed, who do not know it yet
	defer dead.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		node := w.node(fmt.Sprintf("%s.%d", label, n))
		node.safeMode = w.plan.SafeMode > 0 && w.chance(w.plan.SafeMode)
		worker := engine.New(node, node.kinds(all || w.isCalm()), node.config())
		run, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		crashed := make(chan struct{})
		node.onCrash(func() { close(crashed) })
		dead.Go(func() {
			defer close(ended)
			if err := worker.Run(run); err != nil {
				w.say("%s could not begin: %v", node.label, err)
			}
		})
		w.live(run, node, crashed, ended)
		stop()
		select {
		case <-crashed:
		case <-ended:
		}
		if err := sleep(ctx, w.between(10*time.Millisecond, 2*time.Second)); err != nil {
			return
		}
	}
}

// live lets a worker live until it is killed or restarted, or has ended.
func (w *env) live(ctx context.Context, n *node, crashed, ended <-chan struct{}) {
	after := func(mean time.Duration) <-chan time.Time {
		if mean == 0 {
			return nil
		}
		return time.After(w.wait(mean))
	}
	var safe <-chan time.Time // until then it claims nothing
	if n.safeMode {
		w.count("safe mode")
		safe = time.After(w.between(0, 4*time.Second))
	}
	crash, restart, freeze := after(w.plan.Crash), after(w.plan.Restart), after(w.plan.Freeze)
	for {
		select {
		case <-ctx.Done():
			return
		case <-crashed:
			return
		case <-ended:
			return
		case <-safe:
			return
		case <-crash:
			if !w.isCalm() {
				n.crash()
				return
			}
		case <-restart:
			if !w.isCalm() {
				w.count("restart")
				w.say("%s is told to end", n.label)
				return
			}
		case <-freeze:
			if !w.isCalm() {
				d := w.between(100*time.Millisecond, 2*deadAfter)
				w.count("stands still")
				if d > deadAfter {
					w.count("paused past its heartbeat deadline")
				}
				n.freeze(d)
				freeze = after(w.plan.Freeze)
			}
		}
	}
}

// submits brings the tasks in, each until it is known to be there or refused.
func (w *env) submits(ctx context.Context) {
	n := w.node("client")
	var each sync.WaitGroup
	defer each.Wait()
	for i := range w.plan.Tasks {
		each.Go(func() {
			t := &w.plan.Tasks[i]
			pass(t.After)
			for try := 0; ; try++ {
				id := w.names(t, try)
				got, err := n.submit(ctx, t, id)
				var (
					dup    *store.DuplicateError
					paused *store.PausedError
				)
				s := submit{t, id, oracle.OutcomeUnknown}
				if errors.As(err, &paused) {
					got, err = paused.ID, nil
				}
				switch {
				case errors.As(err, &dup) && dup.Column == "unique_key":
					w.count("refused by its unique key")
					s.outcome = oracle.OutcomeDuplicate
				case err == nil:
					s.outcome, s.id = oracle.OutcomeOK, got
					w.know(func(*facts) { w.ids[t] = got })
					if got != id {
						w.count("merged")
					}
				case dup != nil:
					s.outcome, s.id = oracle.OutcomeOK, dup.ID
					w.know(func(*facts) { w.ids[t] = dup.ID })
				}
				w.know(func(f *facts) { f.submits = append(f.submits, s) })
				if s.outcome != oracle.OutcomeUnknown {
					return
				}
				pass(w.between(0, 100*time.Millisecond))
			}
		})
	}
}

// submit submits a task and returns the id of the task that will do it.
func (n *node) submit(ctx context.Context, t *Task, id uuid.UUID) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return do(ctx, n, "Submit", func(ctx context.Context) (uuid.UUID, error) {
		one := []store.NewTask{{
			Submitted: store.Submitted{Kind: t.Kind, Owner: uuid.Max, RunAs: uuid.Max, Queue: t.queue(), UniqueKey: t.Key, IdempotencyKey: t.ID.String(), Reference: t.Reference},
			ID:        id, Revision: 1, Spec: t.spec(), Priority: 2, Delay: t.Delay, Total: -1,
			Options: &store.Options{Conditions: t.Conditions, Preview: t.Preview, Limits: t.Limits, Times: t.Times.stored(n.beginning), Policies: t.Policies},
			Ledger:  keepsLedger(t.Kind),
		}}
		switch {
		case t.Search > 0:
			one[0].Targets = &store.NewTargets{Field: "items", Finding: true}
		case t.Family != nil && t.Family.Set != nil:
			one[0].Targets = &store.NewTargets{Field: "items", Keys: keys(t.Family.Set)}
		case t.Kind == kindFrozen:
			one[0].Targets = &store.NewTargets{Field: "items", Keys: keys(t.positions())}
		}
		err := n.mem.Insert(ctx, one, true)
		return one[0].ID, err
	})
}

// positions are the frozen set of a task of the plan.
func (t *Task) positions() []int {
	all := make([]int, t.Items)
	for i := range all {
		all[i] = i
	}
	return all
}

// jumps lets the store's clock jump until ctx ends. It never stays far behind:
// what is due then would be waited for.
func (w *env) jumps(ctx context.Context) {
	if w.plan.Jump == 0 {
		return
	}
	behind := time.Duration(0)
	for sleep(ctx, w.wait(w.plan.Jump)) == nil {
		var d time.Duration
		switch w.pick(4) {
		case 0:
			d = time.Hour
		case 1:
			d = w.between(0, 2*deadAfter)
		default:
			d = -w.between(0, min(deadAfter, 10*time.Second-behind))
		}
		behind = max(behind-d, 0)
		w.count(map[bool]string{true: "clock jumps ahead", false: "clock jumps back"}[d > 0])
		w.jump(d)
	}
}

// lateMost is how long a call that was given up may take to arrive and to be done.
// One of an operator that arrives after all tasks have ended begins one again.
const lateMost = 6 * time.Second

// patience is how long all tasks together may take.
func (w *env) patience() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := patience
	for _, t := range w.byID {
		if t.Kind == kindFrozen || t.Kind == kindParent {
			all += patience
		}
	}
	return all
}

// still is how long no task may have made a checkpoint when their time is over. A task over a
// large set that is executed item by item may need longer than that, and goes on.
const still = time.Minute

// waitForEnds waits until no late call can arrive and every task has ended, resuming
// those that are paused, and says which have not when the time is over.
func (w *env) waitForEnds() (left []string) {
	n := w.node("operator")
	patience := w.patience()
	checkpoints, moved := int64(0), time.Now()
	for began := time.Now(); ; pass(200 * time.Millisecond) {
		w.resumeQueues()
		left = w.dueSchedules()
		made := int64(0)
		ts, _, err := n.db.Tasks(context.Background(), store.Filter{Limit: 1000})
		if err != nil {
			return []string{err.Error()}
		}
		for _, t := range ts {
			made += t.Seq
			// A child that is paused with its parent is resumed with it.
			if t.Control == lifecycle.Pause && !t.Status.Terminal() && t.ControlReason != lifecycle.ReasonParent {
				n.letGoOn(t)
			}
			if !t.Status.Terminal() || t.Control == lifecycle.Delete {
				left = append(left, fmt.Sprintf("I7: %v after the last fault %s is %s with request %q, held by %q, fence %d, checkpoint %d, attempts %d, due in %v (%s)",
					time.Since(began), w.name(t.ID), t.Status, t.Control, t.Process, t.Fence, t.Seq, t.Attempts, t.Wait, t.WaitingReason))
			}
		}
		w.openWindows(ts)
		if made != checkpoints {
			checkpoints, moved = made, time.Now()
		}
		took := time.Since(began)
		if len(left) == 0 && took > lateMost || took > patience && time.Since(moved) > still || took > 4*patience {
			return left
		}
	}
}
