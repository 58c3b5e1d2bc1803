package taskkit

import (
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// waitFirst and waitLast are the first and the longest pause between two looks
// of [Client.Wait].
const (
	waitFirst = 20 * time.Millisecond
	waitLast  = time.Second
)

// Wait waits until a task has ended, until ctx ends, or until the task is gone
// ([ErrNotFound], after a delete). It reads the task's row without its spec and its
// state, at first quickly, later once a second; between two reads it holds no
// connection. Each is called with every read and may be nil.
//
// Once it has read the task, Wait continues after a lost connection or a busy
// database. When ctx ends, it returns the task as last read, without spec and state,
// together with the cause.
func (c *Client) Wait(ctx context.Context, id ID, each func(*Task)) (*Task, error) {
	var last *Task
	pause := waitFirst
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-timer.C:
		}
		t, err := c.row(ctx, id)
		if err == nil && t.Ended() {
			t, err = c.Task(ctx, id)
		}
		switch {
		case err == nil:
			last = t
			if each != nil {
				each(t)
			}
			if t.Ended() {
				return t, nil
			}
		case ctx.Err() != nil:
			return last, context.Cause(ctx)
		case last == nil || !classify.TransientDatabase(err):
			return nil, err
		}
		timer.Reset(pause)
		pause = min(pause*3/2, waitLast)
	}
}

// row reads a task without its spec and its state.
func (c *Client) row(ctx context.Context, id ID) (*Task, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Tasks(ctx, store.Filter{IDs: []ID{id}, Limit: 1})
	switch {
	case err != nil:
		return nil, c.public(ctx, err)
	case len(found) == 0:
		return nil, ErrNotFound
	}
	return fromStore(found[0]), nil
}
