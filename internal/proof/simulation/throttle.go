package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/throttle"
)

// Throttle is what makes batches of a plan wait.
type Throttle struct {
	Every   time.Duration // mean time between changes of what is well; 0: nothing makes a batch wait
	Touches []string      // the kinds that touch the table on which VACUUM works at times
	Watched []string      // the kinds that an indicator of the user's is for; nil: there is none
	Fails   float64       // of a call of the indicator
}

const (
	// touchedTable is the table that kinds touch.
	touchedTable = "people"
	// readFor is for how long a reading holds.
	readFor = 700 * time.Millisecond
	// readWithin is how long a reading may take.
	readWithin = time.Second
)

// drawThrottle lets batches of some plans wait. It draws from a generator of its own, so that the other plans stay
// as they are.
func (p *Plan) drawThrottle(r *rand.Rand) {
	d := familyDrawer{r: r}
	if !d.maybe(0.25) {
		return
	}
	some := func() (kinds []string) {
		for _, k := range []string{kindMove, kindTidy, kindCount, kindRemote, kindFrozen, kindParent} {
			if d.maybe(0.6) {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	p.Throttle.Every = time.Duration(d.in(500, 4000)) * time.Millisecond
	if d.maybe(0.7) {
		p.Throttle.Touches = some()
	}
	if d.maybe(0.7) {
		p.Throttle.Watched = some()
		p.Throttle.Fails = 0.3 * d.r.Float64()
	}
}

// answer is that of an indicator to a worker.
type answer struct {
	began, at time.Time
	well      bool
}

// asked is a call of an indicator of the user's.
type asked struct{ began, ended time.Time }

// The indicators, by the names of their answers.
const (
	indicatorHealth = "health"
	indicatorOwn    = "outbox"
)

// throttle is the configuration of a worker.
func (n *node) throttle() session.ThrottleConfig {
	t := &n.plan.Throttle
	if t.Every == 0 {
		return session.ThrottleConfig{}
	}
	c := session.ThrottleConfig{Interval: readFor, Vacuum: true}
	if t.Watched != nil {
		c.Indicators = []throttle.Indicator{{Name: indicatorOwn, Kinds: t.Watched, Check: n.outbox}}
	}
	return c
}

// touches are the tables that a kind touches.
func (t *Throttle) touches(kind string) []string {
	if slices.Contains(t.Touches, kind) {
		return []string{touchedTable}
	}
	return nil
}

// outbox is an indicator. At times it fails, panics, is slow or ignores its context.
func (n *node) outbox(ctx context.Context) (reason string, err error) {
	began, answered := time.Now(), false
	n.state.Lock()
	number := len(n.asked)
	n.asked = append(n.asked, asked{began: began})
	n.state.Unlock()
	defer func() {
		n.state.Lock()
		n.asked[number].ended = time.Now()
		counts := n.counts(ctx, began)
		n.state.Unlock()
		n.answers(indicatorOwn, began, counts && answered && reason == "" && err == nil)
	}()
	if err := sleep(ctx, n.between(0, 20*time.Millisecond)); err != nil {
		return "", err
	}
	if n.chance(n.plan.Throttle.Fails) {
		n.count("indicator fails")
		switch n.pick(5) {
		case 0:
			panic("simulated: an indicator panics")
		case 1:
			runtime.Goexit()
		case 2:
			pass(n.between(0, 3*readWithin))
		case 3:
			if err := sleep(ctx, n.between(0, 2*readWithin)); err != nil {
				return "", err
			}
		default:
			return "", errors.New("simulated: an indicator that fails")
		}
	}
	answered = true
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unwell {
		return "mails wait", nil
	}
	return "", nil
}

// counts reports whether a reading may take the answer that a call of the user's indicator gives now. One that does not answer in
// time has not answered; but a reading that waits for the health of the database for longer takes what it then finds. The
// caller has locked state.
func (n *node) counts(ctx context.Context, began time.Time) bool {
	now := time.Now()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return false // the reading was cut off
	case !now.After(began.Add(readWithin)), n.readingHealth > 0:
		return true
	}
	health := n.answered[indicatorHealth]
	return len(health) > 0 && health[len(health)-1].at.Equal(now)
}

// answers notes an answer.
func (n *node) answers(indicator string, began time.Time, well bool) {
	now := time.Now()
	n.state.Lock()
	defer n.state.Unlock()
	n.answered[indicator] = append(n.answered[indicator], answer{began, now, well})
}

// holds returns until when an answer holds at most. The reading of which it is a part begins with it or before, and ends with the last of
// its answers, or when its time is over; it holds from its beginning, but at least for half of its time after its end. The
// caller has locked state.
func (n *node) holds(a *answer) time.Time {
	end := a.at
	for _, of := range n.asked {
		over := of.began.Add(readWithin)
		if !of.ended.IsZero() && of.ended.Before(over) {
			over = of.ended
		}
		if !of.began.After(a.at) && over.After(end) {
			end = over
		}
	}
	for _, of := range n.answered[indicatorHealth] {
		if !of.began.After(a.at) && of.at.After(end) {
			end = of.at
		}
	}
	from := end.Add(-readFor / 2)
	if a.began.After(from) {
		from = a.began
	}
	return from.Add(readFor)
}

// checkThrottle checks that a batch may begin by the indicators that concern its kind: since shortly before the last
// boundary its worker was told by each that all is well.
func (c *call) checkThrottle(from time.Time) {
	if slices.Contains(c.plan.Throttle.Touches, c.task.Kind) {
		c.checkAnswers(indicatorHealth, from)
	}
	if slices.Contains(c.plan.Throttle.Watched, c.task.Kind) {
		c.checkAnswers(indicatorOwn, from)
	}
}

func (c *call) checkAnswers(indicator string, from time.Time) {
	c.count("batch that an indicator concerns")
	c.state.Lock()
	defer c.state.Unlock()
	all := c.answered[indicator]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].well && c.holds(&all[i]).After(from) {
			return
		}
	}
	c.wrong("task %s: a batch of %s begins at %v, and the indicator %s is not well", c.id, c.label, time.Since(c.env.began), indicator)
}

// ReadHealth implements [store.Workers].
func (n *node) ReadHealth(ctx context.Context, q store.HealthQuery) (store.HealthReading, error) {
	began := time.Now()
	n.state.Lock()
	n.readingHealth++
	n.state.Unlock()
	defer func() {
		n.state.Lock()
		n.readingHealth--
		n.state.Unlock()
	}()
	r, err := do(ctx, n, "ReadHealth", func(ctx context.Context) (store.HealthReading, error) { return n.db.ReadHealth(ctx, q) })
	n.answers(indicatorHealth, began, err == nil && len(r.Vacuums) == 0)
	return r, err
}

// health lets the indicators be well and not well by turns, until ctx ends. Then they are well.
func (w *env) health(ctx context.Context) {
	if w.plan.Throttle.Every == 0 {
		return
	}
	set := func(vacuum, unwell bool) {
		var r store.HealthReading
		if vacuum {
			r.Vacuums = []store.Vacuum{{Table: touchedTable, Command: "autovacuum", Percent: -1}}
		}
		w.say("VACUUM works: %t, mails wait: %t", vacuum, unwell)
		w.mu.Lock()
		w.unwell = unwell
		w.mu.Unlock()
		w.mem.SetHealth(r)
	}
	for sleep(ctx, w.wait(w.plan.Throttle.Every)) == nil {
		set(w.pick(3) == 0, w.pick(3) == 0)
	}
	set(false, false)
}

// checkThrottled checks that a task that waits because of an indicator is due when that is read again.
func (w *env) checkThrottled() (bad []string) {
	log := w.mem.Log()
	for i := range log {
		c := &log[i]
		if c.Before == nil || c.After == nil || !c.Before.Status.InFlight() || c.After.Status != lifecycle.Queued || !strings.HasPrefix(c.After.WaitingReason, lifecycle.ReasonThrottled) {
			continue
		}
		w.count("task throttled")
		if t := w.task(c.After.ID); t == nil || len(w.plan.Throttle.touches(t.Kind)) == 0 && !slices.Contains(w.plan.Throttle.Watched, t.Kind) {
			bad = append(bad, fmt.Sprintf("task %s waits as %q, and no indicator concerns it (commit %d)", c.After.ID, c.After.WaitingReason, c.Commit))
		}
		if wait := c.After.NotBefore.Sub(c.At); wait > readFor+time.Millisecond {
			bad = append(bad, fmt.Sprintf("task %s waits for %v as %q, and an indicator is read each %v (commit %d)", c.After.ID, wait, c.After.WaitingReason, readFor, c.Commit))
		}
	}
	return bad
}
