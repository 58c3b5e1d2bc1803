// Package tiny is the smallest task there is: it does nothing.
package tiny

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

// Executor reports that it was called.
//
//taskkit:executor tiny
type Executor struct {
	Ran func(stamp int64)
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(_ context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	x.Ran(b.Spec.Stamp)
	return taskkit.Done, nil
}
