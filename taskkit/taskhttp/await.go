package taskhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Watch returns a job each time that it has changed, until it is done: the last job is
// the one that is done. With a period there is progress too, as often as that at most;
// it is between 250 ms and 50 s, and 0 is without. A watch goes on after lost
// connections, by revision, until ctx ends. An error is the last element.
func (c *Client) Watch(ctx context.Context, id taskkit.ID, period time.Duration) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		j, err := c.Job(ctx, id)
		for {
			if !yield(j, err) || err != nil || j.Done {
				return
			}
			j, err = c.changed(ctx, j, period)
		}
	}
}

// changed waits for the next revision of a job.
func (c *Client) changed(ctx context.Context, last *Job, period time.Duration) (*Job, error) {
	query := url.Values{"maximumPollingPeriod": {c.wait().String()}, "since": {last.Revision}}
	if period > 0 {
		query.Set("progressPeriod", period.String())
	}
	for {
		j, err := c.job(ctx, call{method: http.MethodGet, path: c.path(last.ID, "?"+query.Encode()), again: true})
		if err != nil || j.Revision != last.Revision {
			return j, err
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("taskhttp: %w", context.Cause(ctx))
		}
	}
}

// Fetch fetches the result of a job that is done, decoded as by encoding/json. It is the
// zero Result for a job that has none, an *[Error] like [ErrJobFailed] for one that has
// failed, and [ErrNotDone] before the end. Fetching begins the time after which the
// result may be erased; until then it can be repeated.
func Fetch[Result any](ctx context.Context, c *Client, id taskkit.ID) (Result, error) {
	var r Result
	a, err := c.do(ctx, call{method: http.MethodGet, path: c.path(id, "/result"), again: true})
	if err != nil || a.status == http.StatusNoContent {
		return r, err
	}
	if a.header.Get("Content-Disposition") != "" {
		return r, fmt.Errorf("taskhttp: the result of job %s is a file: use Client.Download", id)
	}
	if err := json.Unmarshal(a.body, &r); err != nil {
		return r, fmt.Errorf("taskhttp: decode the result of job %s: %w", id, err)
	}
	return r, nil
}

// Await starts a job, waits until it is done, and fetches its result. Each is
// called with the job when it has started and with each change, including progress, and
// may be nil. One job is started, whatever happens to connections and server meanwhile.
// When ctx ends the job goes on: stop or delete it, or watch it again, by the id that
// each was given. A result that is a file is downloaded: see [Client.AwaitFile].
func Await[Result any](ctx context.Context, c *Client, path string, spec any, each func(*Job)) (Result, error) {
	j, err := c.awaitJob(ctx, path, spec, each)
	if err != nil {
		return *new(Result), err
	}
	return Fetch[Result](ctx, c, j.ID)
}

// AwaitFile is [Await] for a kind whose results are files: it writes the file with [Client.Download],
// and returns the job and what Download returns. The job is nil if it was not started, or its end was
// not awaited.
func (c *Client) AwaitFile(ctx context.Context, path string, spec any, w io.Writer, each func(*Job)) (j *Job, name string, n int64, err error) {
	if j, err = c.awaitJob(ctx, path, spec, each); err != nil {
		return nil, "", 0, err
	}
	name, n, err = c.Download(ctx, j.ID, w)
	return j, name, n, err
}

// awaitJob starts a job and waits until it is done.
func (c *Client) awaitJob(ctx context.Context, path string, spec any, each func(*Job)) (*Job, error) {
	j, err := c.Start(ctx, path, uuid.NewString(), spec)
	if err != nil {
		return nil, err
	}
	if each == nil {
		each = func(*Job) {}
	}
	for !j.Done {
		each(j)
		if j, err = c.changed(ctx, j, defaultProgress); err != nil {
			return nil, err
		}
	}
	each(j)
	return j, nil
}
