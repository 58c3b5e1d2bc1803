package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/taskkit/throttle"
)

// check is an indicator of the user's with its current call. It belongs to the session that reads.
type check struct {
	throttle.Indicator

	answer  *string      // of the call, once it has returned
	started time.Time    // when the call began
	running <-chan error // of a call that has not returned; nil: there is none
	hangs   bool         // the call is one of a former reading
}

// start calls the indicator, unless it has not yet returned from a former reading: calls that hang
// do not become more.
func (c *check) start(ctx context.Context) {
	if c.running != nil {
		select {
		case <-c.running: //nolint:errcheck // its answer is old
		default:
			c.hangs = true
			return
		}
	}
	c.started, c.hangs = time.Now(), false
	answer := new(string)
	returned := RunIsolated(ctx, func(ctx context.Context) (err error) {
		*answer, err = c.Check(ctx)
		return err
	})
	c.running, c.answer = returned, answer
}

// finding returns what the call has found. An indicator that fails, panics or does not answer is not
// well: no batch runs without its consent.
func (c *check) finding(ctx context.Context, within time.Duration) (f finding, well bool) {
	f = finding{indicator: c.Name, kinds: c.Kinds, own: true}
	answered, err := c.returned(ctx)
	switch {
	case !answered:
		f.err = fmt.Errorf("it has not answered within %v", within)
		f.reason = fmt.Sprintf("%s has not answered for %s", c.Name, rounded(time.Since(c.started)))
	case errors.Is(err, errGoexit):
		f.err, f.reason = err, c.Name+" failed: it ended its goroutine with runtime.Goexit"
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n") // of a panic the stack follows, which is for the log
		f.err, f.reason = err, c.Name+" failed: "+first
	case *c.answer != "":
		f.reason = c.Name + ": " + *c.answer
	default:
		return finding{}, true
	}
	return f, false
}

// returned waits until the call has returned or ctx has ended. It does not wait a second time for one that
// hangs.
func (c *check) returned(ctx context.Context) (answered bool, err error) {
	if c.hangs {
		return false, nil
	}
	select {
	case err = <-c.running:
	case <-ctx.Done():
		// It may have answered in time, while another indicator has used up the time.
		select {
		case err = <-c.running:
		default:
			return false, nil
		}
	}
	c.running = nil
	return true, err
}
