package session

import (
	"context"
	"fmt"
	"math"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

const (
	// inSlot is the longest wait for the next batch for which a session keeps its slot.
	inSlot = time.Second
	// ratedBatch is how much work, by the rate, a batch has at most.
	ratedBatch = 500 * time.Millisecond
	// rateDebt is how much a task that was slower than its rate may be faster afterwards.
	rateDebt = time.Second
)

// rate is the [feature] that keeps the highest rate of a task. Every task has it: a task may be given a rate while it
// executes.
type rate struct {
	noFeature
	c         *current
	perSecond float64 // items a second; 0: any
	since     time.Time
	from      int64 // items that were processed by then
	deferred  int64 // items that were processed since, but do not count as processed before a later round
}

func newRate(c *current) *rate {
	f := &rate{c: c}
	if c.options != nil {
		f.set(c.options.MaxRate)
	}
	return f
}

// set sets the rate from now on; 0: any.
func (f *rate) set(perSecond float64) {
	if perSecond = max(perSecond, 0); perSecond != f.perSecond {
		*f = rate{c: f.c, perSecond: perSecond, since: time.Now(), from: f.c.progress.Processed()}
	}
}

// between waits until the rate permits the next batch.
func (f *rate) between(context.Context) (decision, error) {
	switch wait := f.wait(); {
	case wait <= 0:
		return decision{}, nil
	case wait <= inSlot:
		return decision{pause: wait}, nil
	default:
		return decision{write: f.c.requeueIn(wait, fmt.Sprintf(lifecycle.ReasonRate+"%g items a second at most", f.perSecond))}, nil
	}
}

// wait returns how long the task must wait before its next batch.
func (f *rate) wait() time.Duration {
	if f.perSecond <= 0 {
		return 0
	}
	processed := f.c.progress.Processed()
	items := processed - f.from + f.deferred
	wait := time.Duration(min(float64(items)/f.perSecond, math.MaxInt32)*float64(time.Second)) - time.Since(f.since)
	if wait < -rateDebt {
		*f = rate{c: f.c, perSecond: f.perSecond, since: time.Now().Add(-rateDebt), from: processed}
	}
	return wait
}

// begin limits a batch.
func (f *rate) begin(step *Step) error {
	if f.perSecond > 0 && !step.searching && step.Ending == NotEnding {
		step.Limit = max(min(step.Limit, int(min(f.perSecond*ratedBatch.Seconds(), math.MaxInt32))), 1)
	}
	return nil
}

// finish counts items that were deferred.
func (f *rate) finish(step *Step, _ *result) error {
	_, _, deferred, _ := step.outcomes.count()
	f.deferred += deferred
	return nil
}

// committed implements [feature].
func (f *rate) committed(_ *store.Write, a store.Applied) {
	if a.Options != nil {
		f.set(a.Options.MaxRate)
	}
}
