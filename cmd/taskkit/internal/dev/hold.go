package dev

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"taskkit.dev/taskkit"
)

// hold stops a worker once, when a task is between 10 % and 80 % of its items:
// after a batch has done all its work and before it is committed. It says so and
// waits to be killed, or to be told to go on. What the batch wrote is then in a
// transaction that will never end, and the mails it sent are sent: no moment is
// worse to die. A task of a single batch fits as well.
type hold struct {
	client *taskkit.Client
	out    io.Writer
	armed  atomic.Bool
	once   sync.Once
	free   chan struct{} // closed to let a held batch go on
}

func newHold(c *taskkit.Client, out io.Writer, armed bool) *hold {
	h := &hold{client: c, out: out, free: make(chan struct{})}
	h.armed.Store(armed)
	return h
}

// letGo lets go a batch that is held, and holds none any more.
func (h *hold) letGo() {
	h.armed.Store(false)
	h.once.Do(func() { close(h.free) })
}

// batch is called when a batch has done its work.
func (h *hold) batch(ctx context.Context, task taskkit.ID, last bool) {
	if !h.armed.Load() {
		return
	}
	t, err := h.client.Task(ctx, task)
	if err != nil {
		return // another batch will do
	}
	dealt, total := t.Progress.Dealt(), t.Progress.Total
	midway := total > 0 && dealt*10 >= total && dealt*10 <= total*8
	if !midway && (dealt > 0 || !last) || !h.armed.CompareAndSwap(true, false) {
		return
	}
	if _, err := fmt.Fprintln(h.out, lineHeld, task, dealt, total); err != nil {
		return
	}
	select {
	case <-h.free:
	case <-ctx.Done():
	}
}

// holding is an executor whose batches may be held. It must have neither a Report
// nor an Abort method: they would not be seen.
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
