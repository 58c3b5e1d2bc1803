package dev

import (
	"context"
	"fmt"
	"io"
	"sync"

	"taskkit.dev/taskkit"
)

// What a worker holds.
const (
	holdNothing = ""
	holdBuckets = "buckets" // a batch of a bucket
	holdAny     = "any"     // a batch of any task
)

// hold stops a worker once each time that it is armed, when a task has processed between 10 %
// and 80 % of its items, or a bucket some of its items: after a batch has done all its work and
// before it commits. The worker reports that and waits to be killed or to be asked to continue.
// This is the worst moment to die: the writes of the batch are lost with its transaction,
// but the mails that it sent are sent. A task with a single batch qualifies too.
type hold struct {
	client *taskkit.Client
	out    io.Writer

	mu   sync.Mutex
	what string
	free chan struct{} // closed to let a held batch continue
}

func newHold(c *taskkit.Client, out io.Writer, what string) *hold {
	return &hold{client: c, out: out, what: what, free: make(chan struct{})}
}

// arm lets the worker hold the next batch that qualifies.
func (h *hold) arm(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what = what
}

// letGo releases the batch that is held; no further one will be.
func (h *hold) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what = holdNothing
	close(h.free)
	h.free = make(chan struct{})
}

// wants reports whether a batch could be held.
func (h *hold) wants(bucket bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.what == holdAny || bucket && h.what == holdBuckets
}

// take disarms the hold, and reports whether it was armed for such a batch.
func (h *hold) take(bucket bool) (free chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ok = h.what == holdAny || bucket && h.what == holdBuckets
	if ok {
		h.what = holdNothing
	}
	return h.free, ok
}

// batch is called after each batch, before its commit.
func (h *hold) batch(ctx context.Context, task taskkit.ID, bucket, last bool) {
	if !h.wants(bucket) {
		return
	}
	t, err := h.client.Task(ctx, task)
	if err != nil {
		return // a later batch can be held instead
	}
	processed, total := t.Progress.Processed(), t.Progress.Total
	midway := total > 0 && processed*10 >= total && processed*10 <= total*8 || bucket && processed > 0
	if !midway && (processed > 0 || !last) {
		return
	}
	free, ok := h.take(bucket)
	if !ok {
		return
	}
	if _, err := fmt.Fprintln(h.out, lineHeld, task, processed, total); err != nil {
		return
	}
	select {
	case <-free:
	case <-ctx.Done():
	}
}

// holding wraps an executor so that its batches can be held.
func holding[Spec, State any](h *hold, x taskkit.Executor[Spec, State]) taskkit.Executor[Spec, State] {
	return &held[Spec, State]{x, h}
}

type held[Spec, State any] struct {
	taskkit.Executor[Spec, State]

	hold *hold
}

// Unwrap returns the executor within, whose other methods the runtime calls.
func (x *held[Spec, State]) Unwrap() any { return x.Executor }

// Execute implements [taskkit.Executor].
func (x *held[Spec, State]) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	next, err := x.Executor.Execute(ctx, b)
	if err == nil {
		x.hold.batch(ctx, b.Task, !b.Segment.IsZero(), next == taskkit.Done)
	}
	return next, err
}
