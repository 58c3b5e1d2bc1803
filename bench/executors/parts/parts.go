// Package parts does the work of many pieces in buckets.
package parts

import (
	"context"
	"math/big"

	"taskkit.dev/bench/executors/piece"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// Spec is the number of buckets, and the work of each.
type Spec struct {
	Buckets int `json:"buckets"`
	Items   int `json:"items"` // of each
	WaitMS  int `json:"wait_ms"`
	// Fail: each bucket fails.
	Fail bool `json:"fail"`
}

// State counts the processed items.
type State struct {
	Done int `json:"done"`
}

// Executor waits, in buckets.
//
//taskkit:executor parts batch=100
type Executor struct{}

// Segments implements [taskkit.Segmenter].
func (*Executor) Segments(_ context.Context, b *taskkit.Batch[Spec, State]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(int64(b.Spec.Buckets)), Size: big.NewInt(1)}.Plan()
}

// Execute implements [taskkit.Executor].
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	if b.Spec.Fail {
		return taskkit.More, taskkit.Permanent("asked", nil)
	}
	n := min(b.Limit, b.Spec.Items-b.State.Done)
	if err := piece.Wait(ctx, n, b.Spec.WaitMS); err != nil {
		return taskkit.More, err
	}
	b.State.Done += n
	b.Advance(n)
	if b.State.Done == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// Merge implements [taskkit.Merger].
func (*Executor) Merge(total *State, part State) error {
	total.Done += part.Done
	return nil
}
