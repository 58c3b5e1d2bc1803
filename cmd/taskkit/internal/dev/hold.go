package dev

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"taskkit.dev/taskkit"
)

// hold stops a worker once, when a task has processed between 10 % and 80 % of
// its items: after a batch has done all its work and before it commits. The
// worker reports that and waits to be killed or to be asked to continue. This is
// the worst moment to die: the writes of the batch are lost with its transaction,
// but the mails that it sent are sent. A task with a single batch qualifies too.
type hold struct {
	client *taskkit.Client
	out    io.Writer
	armed  atomic.Bool
	once   sync.Once
	free   chan struct{} // closed to let a held batch continue
}

func newHold(c *taskkit.Client, out io.Writer, armed bool) *hold {
	h := &hold{client: c, out: out, free: make(chan struct{})}
	h.armed.Store(armed)
	return h
}

// letGo releases the batch that is held; no further one will be.
func (h *hold) letGo() {
	h.armed.Store(false)
	h.once.Do(func() { close(h.free) })
}

// batch is called after each batch, before its commit.
func (h *hold) batch(ctx context.Context, task taskkit.ID, last bool) {
	if !h.armed.Load() {
		return
	}
	t, err := h.client.Task(ctx, task)
	if err != nil {
		return // a later batch can be held instead
	}
	processed, total := t.Progress.Processed(), t.Progress.Total
	midway := total > 0 && processed*10 >= total && processed*10 <= total*8
	if !midway && (processed > 0 || !last) || !h.armed.CompareAndSwap(true, false) {
		return
	}
	if _, err := fmt.Fprintln(h.out, lineHeld, task, processed, total); err != nil {
		return
	}
	select {
	case <-h.free:
	case <-ctx.Done():
	}
}

// holding wraps an executor so that its batches can be held. The executor must
// have neither a Report nor an Abort method: the wrapper would hide them.
func holding[Spec, State any](h *hold, x taskkit.Executor[Spec, State]) taskkit.Executor[Spec, State] {
	return &held[Spec, State]{x, h}
}

type held[Spec, State any] struct {
	taskkit.Executor[Spec, State]
	hold *hold
}

// Execute implements [taskkit.Executor].
func (x *held[Spec, State]) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	next, err := x.Executor.Execute(ctx, b)
	if err == nil {
		x.hold.batch(ctx, b.Task, next == taskkit.Done)
	}
	return next, err
}
