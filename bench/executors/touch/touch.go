// Package touch is the smallest task that writes: one row, in the transaction
// that ends the task.
package touch

import (
	"context"

	"taskkit.dev/taskkit"
)

// Spec carries when it was submitted.
type Spec struct {
	Stamp int64 `json:"t"` // nanoseconds
}

// State is empty: there is one batch.
type State struct{}

// Executor writes a row and reports that it was called.
//
//taskkit:executor touch
type Executor struct {
	Insert string // the statement, with the stamp as its parameter
	Ran    func(stamp int64)
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	if _, err := b.Tx.ExecContext(ctx, x.Insert, b.Spec.Stamp); err != nil {
		return taskkit.More, err
	}
	x.Ran(b.Spec.Stamp)
	return taskkit.Done, nil
}
