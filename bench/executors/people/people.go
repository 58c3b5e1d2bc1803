// Package people sets the status of everybody: the bulk action of the main
// benchmark.
package people

import (
	"context"

	"taskkit.dev/taskkit"
)

// Spec has the new status, and the people: ids above From, up to and including To.
type Spec struct {
	Status string `json:"status" validate:"required"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	// Batch is the largest number of people in a transaction. Defaults to b.Limit.
	Batch int `json:"batch"`
}

// State counts the processed people.
type State struct {
	Done int64 `json:"done"`
}

// Executor sets statuses, in the order of the people's ids.
//
//taskkit:executor people batch=500
type Executor struct {
	Update string // the statement: status, from, to
	Ended  func(stamp int64)
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	limit := b.Limit
	if b.Spec.Batch > 0 {
		limit = min(limit, b.Spec.Batch)
	}
	from := b.Spec.From + b.State.Done
	to := min(from+int64(limit), b.Spec.To)
	if _, err := b.Tx.ExecContext(ctx, x.Update, b.Spec.Status, from, to); err != nil {
		return taskkit.More, err
	}
	b.Total(int(b.Spec.To - b.Spec.From))
	b.Advance(int(to - from))
	b.State.Done += to - from
	if to < b.Spec.To {
		return taskkit.More, nil
	}
	x.Ended(0)
	return taskkit.Done, nil
}
