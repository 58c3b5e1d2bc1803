package taskkit

import (
	"context"
	"time"
)

// waitFirst and waitLast are the first and the longest pause between two looks
// of [Client.Wait].
const (
	waitFirst = 20 * time.Millisecond
	waitLast  = time.Second
)

// Wait waits until a task has ended, until ctx ends, or until the task is gone
// ([ErrNotFound], after a delete). It looks at the database, at first quickly,
// later once a second; between two looks it holds no connection. Each is called
// with every look and may be nil.
func (c *Client) Wait(ctx context.Context, id ID, each func(*Task)) (*Task, error) {
	pause := waitFirst
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		t, err := c.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		if each != nil {
			each(t)
		}
		if t.Ended() {
			return t, nil
		}
		timer.Reset(pause)
		pause = min(pause*3/2, waitLast)
	}
}
