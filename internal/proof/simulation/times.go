package simulation

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// reading is what a session was told of the times of its task: the store's clock, and when it had the answer.
type reading struct {
	clock, read  time.Time
	firstStarted time.Time
}

// now is the store's clock as the session knows it at a time of its machine.
func (r *reading) now(at time.Time) time.Time { return r.clock.Add(at.Sub(r.read)) }

// tells notes the answer to a session that has asked for what a task has beside its row.
func (n *node) tells(id uuid.UUID, p *store.Plan) {
	if p.Options.Times == (lifecycle.Times{}) {
		return
	}
	r := reading{clock: p.Now, read: time.Now(), firstStarted: p.FirstStarted}
	if r.firstStarted.IsZero() {
		r.firstStarted = p.Now
	}
	n.state.Lock()
	defer n.state.Unlock()
	n.readings[id] = r
}

// told returns what the session that begins was told.
func (n *node) told(id uuid.UUID) reading {
	n.state.Lock()
	defer n.state.Unlock()
	return n.readings[id]
}

// begins checks that the next batch of a session may begin. What decides so was read after the batch before it, or
// after the session began, and may be old by now: a batch that has begun is not cut off.
func (c *call) begins(ctx context.Context) {
	if ctx.Err() != nil {
		return // the session has ended, and the batch is not committed
	}
	now := time.Now()
	if c.task.Times.given() {
		c.checkTimes(c.told.now(c.boundary), c.told.now(now))
	}
	if c.plan.Throttle.Every > 0 {
		c.checkThrottle(c.boundary)
	}
}

// checkTimes checks that a batch may begin by the times of its task, at one of the times from the last boundary until now.
func (c *call) checkTimes(from, now time.Time) {
	t := &c.task.Times
	if w := t.Window; w != nil {
		c.count("batch of a task with a window")
		if opens := w.opens(from); opens.After(now) {
			c.wrong("task %s: a batch begins between %v and %v, and its window %s is closed until %v", c.id, from, now, w, opens)
		}
	}
	past := func(limit time.Time, what string) {
		if from.After(limit) {
			c.wrong("task %s: a batch begins after %v, and its %s was %v", c.id, from, what, limit)
		}
	}
	if t.Deadline > 0 {
		past(c.beginning.Add(t.Deadline), "deadline")
	}
	if t.TimeLimit > 0 {
		past(c.told.firstStarted.Add(t.TimeLimit), "time limit")
	}
	if t.LatestStart > 0 {
		if row, err := c.mem.Read(context.Background(), c.id); err == nil && row.Seq == 0 {
			past(c.beginning.Add(t.LatestStart), "latest start")
		}
	}
}

// jump lets the store's clock jump.
func (w *env) jump(d time.Duration) {
	w.say("the store's clock jumps by %v", d)
	if d < 0 {
		w.know(func(f *facts) { f.back -= d })
	}
	w.mem.Jump(d)
}

// boundaries lets the store's clock jump to shortly before a window opens or closes or a schedule fires, until ctx ends.
func (w *env) boundaries(ctx context.Context) {
	if w.plan.Boundaries == 0 {
		return
	}
	for sleep(ctx, w.wait(w.plan.Boundaries)) == nil {
		now := w.mem.Now()
		var next time.Time
		if n := len(w.plan.Windows); n > 0 {
			next = w.plan.Windows[w.pick(n)].next(now)
		} else {
			next = nextFire(now, w.plan.Schedules[w.pick(len(w.plan.Schedules))].Every)
		}
		if d := next.Sub(now) - w.between(0, 2*time.Second); d > 0 {
			w.count("clock jumps to a boundary")
			w.jump(d)
		}
	}
}

// openWindows lets the store's clock jump to shortly before the next window opens or closes, if all tasks that have not
// ended wait for one. A session does not notice a jump, so one must be there when the time of the closing comes.
func (w *env) openWindows(tasks []store.Task) {
	if len(w.plan.Windows) == 0 {
		return
	}
	next := time.Duration(-1)
	for _, t := range tasks {
		switch {
		case t.Status.Terminal(), t.Status == lifecycle.Queued && t.Wait > 100*24*time.Hour: // it waits for something else
		case t.Status != lifecycle.Queued || t.Control != lifecycle.None || t.Wait < 5*time.Second:
			return
		case next < 0 || t.Wait < next:
			next = t.Wait
		}
	}
	if next > 0 {
		w.count("clock jumps to the next window")
		now := w.mem.Now()
		to := now.Add(next - 200*time.Millisecond)
		if w.pick(2) == 0 {
			win := &w.plan.Windows[w.pick(len(w.plan.Windows))]
			if closes := win.next(now.Add(next)); win.open(now.Add(next)) && closes.Sub(to) < time.Hour {
				to = closes.Add(-w.between(time.Second, 5*time.Second))
			}
		}
		w.jump(to.Sub(now))
	}
}
