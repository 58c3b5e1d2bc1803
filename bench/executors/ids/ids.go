// Package ids does nothing with its ids: tasks are submitted and not run.
package ids

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Spec has the ids.
type Spec struct {
	IDs []uuid.UUID `json:"ids"`
}

// State is empty: the runtime keeps the position.
type State struct{}

// Executor takes ids.
//
//taskkit:executor ids targets=ids
type Executor struct{}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(_ context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	_, next := taskkit.Take(b, b.Spec.IDs)
	return next, nil
}
