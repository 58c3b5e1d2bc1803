package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// The queues. All workers serve both.
const (
	queueDefault = "default"
	queueNight   = "night"
)

// drawQueues puts tasks of some plans into another queue, and lets an operator pause queues. Some workers then start in
// safe mode. It draws from a generator of its own, so that the other plans stay as they are.
func (p *Plan) drawQueues(r *rand.Rand) {
	d := familyDrawer{r: r}
	if !d.maybe(0.25) {
		return
	}
	p.PauseEvery = time.Duration(d.in(500, 4000)) * time.Millisecond
	p.PausedAtEnd = d.maybe(0.5)
	p.SafeMode = 0.4 * d.r.Float64()
	for i := range p.Tasks {
		if t := &p.Tasks[i]; t.Reference == "" && d.maybe(0.5) {
			t.Queue = queueNight
		}
	}
}

// queue is the queue of a task.
func (t *Task) queue() string {
	if t.Queue == "" {
		return queueDefault
	}
	return t.Queue
}

// pausedQueue is a time in which a queue was paused, by the length of the store's log: from is after the pause has taken
// effect, and to before the resume did; -1: it has not.
type pausedQueue struct {
	queue    string
	from, to int
}

// PauseQueue implements [store.Requests].
func (n *node) PauseQueue(ctx context.Context, c store.QueueChange) error {
	return act(ctx, n, "PauseQueue", func(ctx context.Context) error { return n.setPaused(ctx, c) })
}

// setPaused pauses or resumes a queue, and notes since when it is so.
func (w *env) setPaused(ctx context.Context, c store.QueueChange) error {
	w.pausing.Lock()
	defer w.pausing.Unlock()
	before := len(w.mem.Log())
	if err := w.db.PauseQueue(ctx, c); err != nil {
		return err
	}
	at := slices.IndexFunc(w.paused, func(p pausedQueue) bool { return p.queue == c.Queue && p.to < 0 })
	switch {
	case c.Paused && at < 0:
		w.count("queue paused")
		w.paused = append(w.paused, pausedQueue{c.Queue, len(w.mem.Log()), -1})
	case !c.Paused && at >= 0:
		w.count("queue resumed")
		w.paused[at].to = before
	}
	return nil
}

// pauses lets an operator pause and resume queues until ctx ends.
func (w *env) pauses(ctx context.Context) {
	if w.plan.PauseEvery == 0 {
		return
	}
	n := w.node("operator")
	for sleep(ctx, w.wait(w.plan.PauseEvery)) == nil {
		cctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = n.PauseQueue(cctx, store.QueueChange{Queue: []string{queueDefault, queueNight}[w.pick(2)], Paused: w.pick(2) == 0, Actor: approver})
		cancel()
	}
}

// resumeQueues resumes all queues when there are no faults. A pause may still arrive late.
func (w *env) resumeQueues() {
	if w.plan.PauseEvery == 0 {
		return
	}
	for _, q := range []string{queueDefault, queueNight} {
		if err := w.setPaused(context.Background(), store.QueueChange{Queue: q, Actor: approver}); err != nil {
			w.wrong("queue %s cannot be resumed: %v", q, err)
		}
	}
}

// How long a task that is to end may stay as it is, when there are no faults but the executors': Abort and Report may hang,
// and an item of a task that was under way when its queue was paused may kill the worker.
const (
	// claimedWithin is for one that waits: until the next poll, if another worker has released it, and then some calls,
	// which a claimer makes one after the other. A worker that was killed is back sooner.
	claimedWithin = pollListening*11/10 + 7*longestCall
	// endsWithin is for one that a worker has: each try of Abort and Report takes as long as a batch at most, and the
	// session has calls before and after them. One of a worker that was killed is released sooner, after deadAfter.
	endsWithin = endTries*batchTimeout + 10*longestCall
	// endTries is how often a session tries Abort and Report, and endsAtOnce how many tasks a worker ends beside its slots.
	endTries, endsAtOnce = 3, 4
)

// stopsInPausedQueue pauses the queues when there are no faults, and stops what waits there. It must end
// although nothing is claimed to be executed, and be on its way there all the time: how long that takes in all depends on how
// many tasks end at once, how often they hang, and how many workers are killed meanwhile.
func (w *env) stopsInPausedQueue(ctx context.Context) {
	if !w.plan.PausedAtEnd {
		return
	}
	n := w.node("operator")
	pass(3 * deadAfter) // whoever stands still goes on
	for _, q := range []string{queueDefault, queueNight} {
		if err := w.setPaused(ctx, store.QueueChange{Queue: q, Paused: true, Actor: approver}); err != nil {
			w.wrong("queue %s cannot be paused: %v", q, err)
		}
	}
	all, _, err := n.db.Tasks(ctx, store.Filter{Statuses: []lifecycle.Status{lifecycle.Queued}, Limit: 1000})
	if err != nil {
		w.wrong("the tasks cannot be read: %v", err)
	}
	var stopped []uuid.UUID
	for _, t := range all {
		if t.Parent == uuid.Nil && t.Kind != kindParent && t.Control == lifecycle.None && w.pick(2) == 0 {
			stopped = append(stopped, t.ID)
			n.request(t.ID, store.Request{Action: lifecycle.ActStop})
		}
	}
	if len(stopped) == 0 {
		return
	}
	w.count("stop in a paused queue")
	pass(claimedWithin) // in which nothing else may be claimed
	patience := w.patience()
	for began := time.Now(); len(stopped) > 0; pass(200 * time.Millisecond) {
		stopped = slices.DeleteFunc(stopped, func(id uuid.UUID) bool {
			t, err := w.mem.Task(ctx, id)
			if err != nil || t.Status.Terminal() {
				return true
			}
			still, stuck := w.stuck(&t)
			if took := time.Since(began); stuck || took > patience { // or it is given back again and again
				w.wrong("task %s in the paused queue %s was to stop, and is %s with request %q for %v, %v later (%s)",
					id, t.Queue, t.Status, t.Control, still, claimedWithin+took, t.WaitingReason)
				return true
			}
			return false
		})
	}
}

// stuck returns for how long nothing has brought a task nearer to its end, and whether that is too long. The time counts from its
// last change, of which a checkpoint is none here, and again from when a worker was killed or has come. A task that waits need
// not be claimed if all the room of a worker may have been taken shortly before, since so many tasks were claimed to end.
func (w *env) stuck(t *store.Task) (still time.Duration, stuck bool) {
	w.know(func(f *facts) { still = time.Since(f.workers) })
	now, ending := w.mem.Now(), 0
	for _, c := range w.mem.Log() {
		if c.Before == nil {
			continue
		}
		age := now.Sub(c.At)
		if checkpoint := c.After != nil && c.After.Seq > c.Before.Seq; c.Before.ID == t.ID && !checkpoint {
			still = min(still, age)
		}
		if c.By == "Claim" && c.Before.Control.Ends() && age < endsWithin+claimedWithin {
			ending++
		}
	}
	if t.Status.InFlight() {
		return still, still > endsWithin
	}
	return still, still > claimedWithin && ending < endsAtOnce
}

// RegisterWorker implements [store.Workers].
func (n *node) RegisterWorker(ctx context.Context, p store.Process) error {
	if n.safeMode {
		n.know(func(f *facts) { f.safe[p.ID] = true })
	}
	return act(ctx, n, "RegisterWorker", func(ctx context.Context) error {
		err := n.db.RegisterWorker(ctx, p)
		n.know(func(f *facts) { f.workers = time.Now() })
		return err
	})
}

// checkQueues checks that nothing is claimed of a paused queue, unless it is to end, and nothing by a worker in safe mode.
func (w *env) checkQueues() (bad []string) {
	w.pausing.Lock()
	defer w.pausing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.mem.Log()
	for i := range log {
		c := &log[i]
		if c.By != "Claim" {
			continue
		}
		if w.facts.safe[c.After.Process] {
			bad = append(bad, fmt.Sprintf("task %s is claimed by %s, which is in safe mode (commit %d)", c.After.ID, c.After.Process, c.Commit))
		}
		for _, p := range w.paused {
			if p.queue != c.After.Queue || i < p.from || p.to >= 0 && i >= p.to {
				continue
			}
			if c.Before.Control.Ends() {
				w.seen["claim of a task to end in a paused queue"]++
				continue
			}
			bad = append(bad, fmt.Sprintf("task %s is claimed of the queue %s, which is paused (commit %d)", c.After.ID, p.queue, c.Commit))
		}
	}
	return bad
}
