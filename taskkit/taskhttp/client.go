package taskhttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// Client makes the calls of the protocol. It is safe for concurrent use as long as its
// fields are not changed.
//
// What the server refuses is an *[Error]. A call that may be repeated without harm is:
// after a lost connection, and after an answer that says that it passes, with growing
// delays, until ctx ends.
type Client struct {
	// URL is the address of the service, such as https://example.org. Required.
	URL string
	// Prefix is the path below which jobs are. Defaults to "/jobs".
	Prefix string
	// HTTP makes the requests. Its Timeout must be longer than Wait, or zero. Defaults to
	// http.DefaultClient.
	HTTP *http.Client
	// Prepare is called with each request before it is sent, for example to sign in.
	// Defaults to none.
	Prepare func(*http.Request) error
	// Wait is how long the server may let a watch wait. Defaults to 30 s, at most 60 s.
	Wait time.Duration
	// Backoff is the delay before the first repetition of a call; it doubles up to 30 s.
	// A quarter of it is random. A longer Retry-After goes before it. Defaults to 500 ms.
	Backoff time.Duration
}

const (
	maxBackoff = 30 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = taskjson.MaxSize + 1<<20
)

// call is a request.
type call struct {
	method, path string
	body         []byte // JSON, or nil
	key          string // the idempotency key, or ""
	again        bool   // it may be repeated
}

// Start starts a job with a POST to the path of its kind. The spec is encoded as by
// encoding/json. The call is repeated only with a key: the server then makes one job of
// all requests with the key. A later Start with the same key and spec returns that job.
// With ?preview=true after the path of a kind that supports it, the job is a preview, see
// [Client.Preview]; it has keys of its own.
func (c *Client) Start(ctx context.Context, path, key string, spec any) (*Job, error) {
	body, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("taskhttp: encode the spec of a job: %w", err)
	}
	return c.job(ctx, call{method: http.MethodPost, path: path, body: body, key: key, again: key != ""})
}

// Job reads a job.
func (c *Client) Job(ctx context.Context, id taskkit.ID) (*Job, error) {
	return c.job(ctx, call{method: http.MethodGet, path: c.path(id, ""), again: true})
}

// Stop ends a job and keeps what it has done. The reason is for those who read the
// task's events and may be "".
func (c *Client) Stop(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpStop, reason, true)
}

// Pause keeps a job from running until [Client.Resume].
func (c *Client) Pause(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpPause, reason, true)
}

// Resume lets a paused job continue. It is not repeated, and neither are Retry and
// Approve: the repetition of one that succeeded is refused.
func (c *Client) Resume(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpResume, reason, false)
}

// Retry continues a job that has failed.
func (c *Client) Retry(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpRetry, reason, false)
}

// Approve lets a job continue that waits for approval.
func (c *Client) Approve(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpApprove, reason, false)
}

// Change changes settings of a job, all of them or none. They take effect with the next batch.
func (c *Client) Change(ctx context.Context, id taskkit.ID, to Settings) (*Job, error) {
	body, err := json.Marshal(to)
	if err != nil {
		return nil, fmt.Errorf("taskhttp: encode the settings of a job: %w", err)
	}
	return c.job(ctx, call{method: http.MethodPatch, path: c.path(id, ""), body: body, again: true})
}

// Preview reads what a job that is a preview has found, see [Client.Start].
func (c *Client) Preview(ctx context.Context, id taskkit.ID) (*Preview, error) {
	var p Preview
	return &p, c.read(ctx, call{method: http.MethodGet, path: c.path(id, "/preview"), again: true}, &p)
}

// Delete removes a job and its result, irrevocably, and returns the job, which is [Deleted]. A job that does
// not exist is no error: nil is returned.
func (c *Client) Delete(ctx context.Context, id taskkit.ID) (*Job, error) {
	a, err := c.do(ctx, call{method: http.MethodDelete, path: c.path(id, ""), again: true})
	if err != nil || a.status == http.StatusNoContent {
		return nil, err
	}
	var j Job
	if err := json.Unmarshal(a.body, &j); err != nil {
		return nil, fmt.Errorf("taskhttp: DELETE of job %s: the answer cannot be decoded: %w", id, err)
	}
	return &j, nil
}

// Page reads a page of the caller's jobs. The query has parameters of the list, such as
// kind, status, limit, and cursor for the next page; it may be nil.
func (c *Client) Page(ctx context.Context, query url.Values) (*Page, error) {
	path := cmp.Or(c.Prefix, "/jobs")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var p Page
	return &p, c.read(ctx, call{method: http.MethodGet, path: path, again: true}, &p)
}

func (c *Client) change(ctx context.Context, id taskkit.ID, op Operation, reason string, again bool) (*Job, error) {
	r := call{method: http.MethodPost, path: c.path(id, "/"+string(op)), again: again}
	if reason != "" {
		body, err := json.Marshal(changeBody{reason})
		if err != nil {
			return nil, fmt.Errorf("taskhttp: encode a reason: %w", err)
		}
		r.body = body
	}
	return c.job(ctx, r)
}

func (c *Client) path(id taskkit.ID, below string) string {
	return c.root() + "/" + id.String() + below
}

func (c *Client) root() string { return cmp.Or(c.Prefix, "/jobs") }

func (c *Client) job(ctx context.Context, r call) (*Job, error) {
	var j Job
	if err := c.read(ctx, r, &j); err != nil {
		return nil, err
	}
	return &j, nil
}

// read makes a call and decodes its answer.
func (c *Client) read(ctx context.Context, r call, v any) error {
	a, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("taskhttp: %s %s: the answer cannot be decoded: %w", r.method, r.path, err)
	}
	return nil
}

// answer is what a call was answered with.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes a call until it is answered, or must not be repeated.
func (c *Client) do(ctx context.Context, r call) (a answer, err error) {
	err = c.repeat(ctx, r, func() error {
		a, err = c.once(ctx, r)
		return err
	})
	return a, err
}

// repeat makes a call with once until it is answered, or must not be repeated.
func (c *Client) repeat(ctx context.Context, r call, once func() error) error {
	for try := 0; ; try++ {
		err := once()
		if err == nil || ctx.Err() != nil || !passes(r, err) {
			return err
		}
		pause := time.NewTimer(max(c.backoff(try), retryAfter(err)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("taskhttp: %w; the last try: %w", context.Cause(ctx), err)
		}
	}
}

// passes reports whether a call may succeed when it is repeated.
func passes(r call, err error) bool {
	if !r.again {
		return false
	}
	p, ok := errors.AsType[*Error](err)
	if !ok {
		_, lost := errors.AsType[*lostError](err)
		return lost
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// lostError is a request of which it is not known whether it was served.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }

func (e *lostError) Unwrap() error { return e.err }

func retryAfter(err error) time.Duration {
	if p, ok := errors.AsType[*Error](err); ok {
		return min(p.RetryAfter, 2*maxBackoff)
	}
	return 0
}

func (c *Client) backoff(try int) time.Duration {
	first := cmp.Or(c.Backoff, 500*time.Millisecond)
	d := min(first<<min(try, 16), maxBackoff)
	return d - time.Duration(rand.Int64N(int64(d/4)+1))
}

// request makes the request of a call. Its path, which may come from a document, cannot lead to another host.
func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	if !strings.HasPrefix(r.path, "/") {
		return nil, fmt.Errorf("taskhttp: the path %q does not begin with /", r.path)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, strings.TrimSuffix(c.URL, "/")+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("taskhttp: %w", err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if c.Prepare != nil {
		if err := c.Prepare(req); err != nil {
			return nil, fmt.Errorf("taskhttp: prepare a request: %w", err)
		}
	}
	return req, nil
}

// once makes a call.
func (c *Client) once(ctx context.Context, r call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.wait()+maxBackoff)
	defer cancel()
	req, err := c.request(ctx, r)
	if err != nil {
		return answer{}, err
	}
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return answer{}, &lostError{fmt.Errorf("taskhttp: %w", err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, &lostError{fmt.Errorf("taskhttp: read the answer to %s %s: %w", r.method, r.path, err)}
	}
	if resp.StatusCode/100 != 2 {
		return answer{}, errorOf(resp, body)
	}
	return answer{resp.StatusCode, resp.Header, body}, nil
}

func (c *Client) wait() time.Duration { return min(cmp.Or(c.Wait, 30*time.Second), maxWait) }

// errorOf makes an error of an answer, which may come from a proxy.
func errorOf(resp *http.Response, body []byte) *Error {
	p := &Error{}
	if json.Unmarshal(body, p) != nil || p.Type == "" {
		p = &Error{Type: "about:blank", Title: http.StatusText(resp.StatusCode)}
	}
	p.Status = resp.StatusCode
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		p.RetryAfter = time.Duration(n) * time.Second
	}
	return p
}
