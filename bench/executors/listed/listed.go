// Package listed changes the status of a list of people.
package listed

import (
	"context"

	"taskkit.dev/taskkit"
)

// Spec names the people.
type Spec struct {
	Status string  `json:"status" validate:"required"`
	People []int64 `json:"people"`
}

// State is empty: the runtime keeps the position.
type State struct{}

// Executor changes people.
//
//taskkit:executor listed batch=500 max=500 targets=people preview
type Executor struct {
	Update string // the statement: status, the id before the first person, the last
	Ended  func(stamp int64)
}

// Execute implements [taskkit.Executor]. The ids of a batch have no gap.
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	ids, next := taskkit.Take(b, b.Spec.People)
	if len(ids) > 0 {
		if _, err := b.Tx.ExecContext(ctx, x.Update, b.Spec.Status, ids[0]-1, ids[len(ids)-1]); err != nil {
			return taskkit.More, err
		}
	}
	if next == taskkit.Done {
		x.Ended(0)
	}
	return next, nil
}
