package taskkit

import (
	"cmp"
	"context"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
	"taskkit.dev/taskkit/taskcause"
)

// TaskProgress says how far a task is, how fast it is, and how long the rest takes.
// What is not known is left out, and never guessed.
type TaskProgress struct {
	Task     ID       `json:"task"`
	Status   Status   `json:"status"`
	Progress Progress `json:"progress"`
	// Finding: the task has not found all its targets yet, see [Targeter], so Progress.Total
	// is not known yet.
	Finding bool `json:"finding,omitempty"`
	// Remaining is the number of items that are neither done, failed nor skipped.
	// Deferred items are among them. It is -1 while the total is unknown.
	Remaining int64 `json:"remaining"`
	// Rate is the items in a second of the last minute of work. It is 0 while it is not
	// known: it is measured every 5 seconds of a task's work.
	Rate float64 `json:"rate"`
	// Rates are the items in a second in each of the newest measured parts of the work, the oldest first: at most 24, of 5 seconds or more each.
	// A task that has Parts has none.
	Rates []float64 `json:"rates,omitempty"`
	// TimeLeft is the working time that the rest takes, without waits and pauses. So
	// while the task runs it is the time to its end, and while it waits, the time from
	// when it goes on. It is nil when it is not known, for a halted task, from the third try of
	// a batch on, and when nothing remains.
	TimeLeft *TimeRange `json:"time_left,omitempty"`
	// FromEarlier: TimeLeft is estimated from earlier tasks of the kind, since this one
	// has not been measured yet.
	FromEarlier bool `json:"from_earlier,omitempty"`
	// Waiting says why the task does not run. It is "" while it runs, and after its end.
	Waiting string `json:"waiting,omitempty"`
	// Halted is when a running task has last been seen to work, to within 5 seconds, if
	// that is 5 minutes ago or more, and 5 times as long as its longest recent batches
	// took. It is nil otherwise. Either a batch takes very long, or the worker is stuck
	// and others cannot take the task over: see [Client.Explain].
	Halted *time.Time `json:"halted,omitempty"`
	// Parts are the children of the task, if it has or had some. Their rates add up to Rate, and those that run share what
	// remains for TimeLeft. Halted is then set when all running parts are.
	Parts *ProgressParts `json:"parts,omitempty"`
}

// TimeRange is a range of durations: it will most likely be one of these.
type TimeRange struct {
	Low  time.Duration `json:"low_ns"`
	High time.Duration `json:"high_ns"`
}

// String returns, for example, "2m10s to 3m0s".
func (r TimeRange) String() string { return round(r.Low) + " to " + round(r.High) }

const (
	// haltedAfter and haltedBatches are how long a task is not seen to work before it
	// counts as halted: a time, and a multiple of its longest sample.
	haltedAfter   = 5 * time.Minute
	haltedBatches = 5
	// haltedTries is how many tries of a batch may be under way before the time that the rest takes is unknown.
	haltedTries = 2
	// earlierTasks is how many earlier tasks an estimate is made from.
	earlierTasks = 10
)

// Progress reads how far a task is. The range of its TimeLeft is derived from how its
// recent parts, of 5 seconds or more, differ in their rates; before the first one, from
// the last 10 tasks of the kind that were measured. It returns [ErrNotFound] when there
// is no such task.
func (c *Client) Progress(ctx context.Context, id ID) (*TaskProgress, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.row(ctx, id)
	if err != nil {
		return nil, err
	}
	rate, err := op.Rate(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	var earlier []workrate.History
	if len(rate.Samples) == 0 && !t.Ended() && t.Progress.Total > 0 {
		if earlier, err = op.KindRates(ctx, t.Kind, earlierTasks); err != nil {
			return nil, c.public(ctx, err)
		}
	}
	p := newTaskProgress(t, rate, earlier)
	if t.Children != nil {
		if err := c.addParts(ctx, op, t, p); err != nil {
			return nil, c.public(ctx, err)
		}
		if p.Parts != nil {
			p.Rates = nil
		}
	}
	if p.Remaining < 0 {
		plan, err := op.Plan(ctx, id)
		if err != nil {
			return nil, c.public(ctx, err)
		}
		p.Finding = plan.Frozen != nil && plan.Frozen.Finding
	}
	return p, nil
}

// newTaskProgress makes a progress of what was read. It is pure.
func newTaskProgress(t *Task, rate store.Rate, earlier []workrate.History) *TaskProgress {
	p := &TaskProgress{
		Task: t.ID, Status: t.Status, Progress: t.Progress, Remaining: -1,
		Rate: rate.PerSecond(), Rates: rate.Each(), Waiting: waiting(t), Halted: halted(t, rate),
	}
	if t.Progress.Total < 0 {
		return p
	}
	p.Remaining = max(t.Progress.Total-t.Progress.Processed(), 0)
	if t.Ended() || p.Halted != nil || t.try() > haltedTries {
		return p
	}
	samples := rate.Samples
	if len(samples) == 0 {
		for _, h := range earlier {
			samples = append(samples, h.All)
		}
		p.FromEarlier = true
	}
	low, high, known := workrate.Left(p.Remaining, samples)
	if known {
		p.TimeLeft = &TimeRange{low, high}
	}
	p.FromEarlier = p.FromEarlier && known
	return p
}

// waiting returns why a task does not run, as far as the task says it; "" if it does, or has ended.
func waiting(t *Task) string {
	if t.Status != StatusQueued {
		return ""
	}
	if t.Cause() == taskcause.Due {
		return cmp.Or(t.WaitingReason, "waits for a worker")
	}
	return (&facts{rowOnly: true}).explain(t).Note
}

// halted returns when a task was last seen to work, if it should have been since. All
// times are the database's.
func halted(t *Task, rate store.Rate) *time.Time {
	if t.Status != StatusScheduling && t.Status != StatusExecuting {
		return nil
	}
	last := rate.Measured
	for _, at := range []*time.Time{t.Scheduled, t.LeaseStarted} {
		if at != nil && at.After(last) {
			last = *at
		}
	}
	now := t.Created.Add(t.Elapsed)
	if now.Sub(last) < max(haltedAfter, haltedBatches*rate.Longest()) {
		return nil
	}
	return &last
}
