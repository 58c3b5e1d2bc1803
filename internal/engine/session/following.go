package session

import (
	"context"

	"taskkit.dev/taskkit/taskevent"
)

// following is the user's trace of a session. A panic of it is recovered and ends the following, not the session. A nil following does
// nothing.
type following struct {
	c     *current
	trace taskevent.Trace // nil: it has ended
}

// follow begins the trace of a session whose plan was read.
func (c *current) follow() {
	if c.Trace == nil {
		return
	}
	f := &following{c: c}
	c.Events.Guard(func() {
		f.trace = c.Trace(c.ctx, taskevent.TracedTask{
			TaskRef: c.ref(), Queue: c.task.Queue, Traceparent: c.trace,
			Store: func(ctx context.Context, text string) error {
				ctx, cancel := context.WithTimeout(ctx, c.Config.Call)
				defer cancel()
				err := c.Store.StoreTrace(ctx, c.lease, text)
				if err == nil {
					c.trace = text
				}
				return err
			},
		})
	})
	if f.trace != nil {
		c.following = f
	}
}

// batch returns the context of a call of the executor, and sets the logger of its step.
func (f *following) batch(ctx context.Context, step *Step) context.Context {
	if f == nil || f.trace == nil {
		return ctx
	}
	var made context.Context
	f.c.Events.Guard(func() {
		made = f.trace.Batch(ctx) //nolint:fatcontext // it is the context of one batch
		step.Log = f.trace.Logger(step.Log)
		step.Tx.trace = f.c.trace // with the present slice
	})
	if made == nil { // it has panicked
		return ctx
	}
	return made
}

// done follows a batch.
func (f *following) done(e taskevent.BatchDone) {
	if f != nil && f.trace != nil {
		f.c.Events.Guard(func() { f.trace.BatchDone(e) })
	}
}

// end follows the end of the session, once.
func (f *following) end(e taskevent.Event) {
	if f == nil || f.trace == nil {
		return
	}
	last := f.trace
	f.trace = nil
	f.c.Events.Guard(func() { last.Ended(e) })
}
