// Package rollout is release 1 of an action: as it was at first.
package rollout

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Spec says whose standing to set, and to what.
type Spec struct {
	People []uuid.UUID `json:"people" validate:"required"`
	Status string      `json:"status" validate:"required"`
}

// State is how far the task has come.
type State struct {
	Changed int `json:"changed"`
}

// Executor sets standings. Touch writes one, through the batch's transaction.
//
//taskkit:executor enrol batch=1
type Executor struct {
	Touch func(ctx context.Context, tx taskkit.ExecQuerier, task taskkit.ID, person uuid.UUID, standing, note string) error
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	b.Limit = 1 // a person a batch: whoever watches can stop in between
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		if err := x.Touch(ctx, b.Tx, b.Task, p, b.Spec.Status, ""); err != nil {
			return next, err
		}
		b.State.Changed++
	}
	return next, nil
}
