package taskkit

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// waitFirst and waitLast are the first and the longest pause between two
// reads of [Client.Wait].
const (
	waitFirst = 20 * time.Millisecond
	waitLast  = time.Second
)

// Wait waits until a task has ended, until ctx ends, or until the task is gone
// ([ErrNotFound], after a delete). It reads the task's row without its spec and its
// state, at first quickly, later once a second; between two reads it holds no
// connection.
//
// A read that fails in a way that passes, such as a lost connection or a busy
// database, is tried again, the first one too, until ctx ends. Other errors, such as
// missing tables or a refused login, end Wait.
//
// Each is called after every read and may be nil. After a failed read that is tried
// again, it gets the error and the task as last read, which is nil before the first
// successful read.
//
// When ctx ends, Wait returns the task as last read, without spec and state, together
// with the cause and the error of the last read if that failed.
func (c *Client) Wait(ctx context.Context, id ID, each func(*Task, error)) (*Task, error) {
	var (
		last   *Task
		failed error // of the last read
	)
	if each == nil {
		each = func(*Task, error) {}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := waitFirst; ; pause = min(pause*3/2, waitLast) {
		select {
		case <-ctx.Done():
			return last, waitEnded(ctx, failed)
		case <-timer.C:
		}
		t, err := c.row(ctx, id)
		if err == nil && t.Ended() {
			t, err = c.Task(ctx, id)
		}
		switch {
		case err == nil:
			last = t
		case ctx.Err() != nil:
			return last, waitEnded(ctx, failed)
		case !classify.TransientDatabase(err):
			return nil, err
		}
		failed = err
		each(last, failed)
		if err == nil && t.Ended() {
			return t, nil
		}
		timer.Reset(pause)
	}
}

// waitEnded is the error of a Wait whose context has ended. Failed is the error of its
// last read, if any.
func waitEnded(ctx context.Context, failed error) error {
	if failed == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w; the last read of the task failed: %w", context.Cause(ctx), failed)
}

// row reads a task without its spec and its state.
func (c *Client) row(ctx context.Context, id ID) (*Task, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := op.Tasks(ctx, store.Filter{IDs: []ID{id}, Limit: 1})
	switch {
	case err != nil:
		return nil, c.public(ctx, err)
	case len(found) == 0:
		return nil, ErrNotFound
	}
	return c.read(ctx, op, found[0])
}
