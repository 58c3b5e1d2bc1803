// Package piece waits for each item, as for a call of another service.
package piece

import (
	"context"
	"time"

	"taskkit.dev/taskkit"
)

// Spec is the number of items, and the wait for each.
type Spec struct {
	Items  int `json:"items"`
	WaitMS int `json:"wait_ms"`
}

// State counts the processed items.
type State struct {
	Done int `json:"done"`
}

// Executor waits.
//
//taskkit:executor piece batch=100
type Executor struct{}

// Execute implements [taskkit.Executor].
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	n := min(b.Limit, b.Spec.Items-b.State.Done)
	if err := Wait(ctx, n, b.Spec.WaitMS); err != nil {
		return taskkit.More, err
	}
	b.State.Done += n
	b.Advance(n)
	if b.State.Done == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// Wait waits for n items.
func Wait(ctx context.Context, n, ms int) error {
	t := time.NewTimer(time.Duration(n*ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
