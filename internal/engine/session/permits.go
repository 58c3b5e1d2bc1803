package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// permitsMax is the most tasks whose permits are requested in one transaction.
const permitsMax = 200

// PermitQueue requests the permits of tasks under their limits, for all sessions that need permits at the same time in one
// transaction. run runs on one goroutine; request is safe for concurrent use.
type PermitQueue struct {
	store store.Runtime
	call  time.Duration // timeout of one call

	mu     sync.Mutex
	queue  []permitRequest
	signal chan struct{}
}

// permitRequest is a task whose session waits for the response.
type permitRequest struct {
	store.PermitRequest
	response chan<- permitResponse
}

type permitResponse struct {
	store.PermitAnswer
	err error
}

func NewPermitQueue(s store.Runtime, call time.Duration) *PermitQueue {
	return &PermitQueue{store: s, call: call, signal: make(chan struct{}, 1)}
}

// request sends the request of a task, and waits for the response.
func (q *PermitQueue) request(ctx context.Context, task store.PermitRequest) (store.PermitAnswer, error) {
	response := make(chan permitResponse, 1)
	q.mu.Lock()
	q.queue = append(q.queue, permitRequest{task, response})
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
	select {
	case r := <-response:
		return r.PermitAnswer, r.err
	case <-ctx.Done():
		return store.PermitAnswer{}, context.Cause(ctx)
	}
}

// Run sends requests until ctx ends.
func (q *PermitQueue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.signal:
		}
		for tasks := q.take(); len(tasks) > 0; tasks = q.take() {
			q.send(ctx, tasks)
		}
	}
}

// take removes the next requests from the queue.
func (q *PermitQueue) take() []permitRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.queue), permitsMax)
	tasks := q.queue[:n:n]
	q.queue = q.queue[n:]
	return tasks
}

// send sends requests in one transaction.
func (q *PermitQueue) send(ctx context.Context, tasks []permitRequest) {
	all := make([]store.PermitRequest, len(tasks))
	for i, t := range tasks {
		all[i] = t.PermitRequest
	}
	cctx, cancel := context.WithTimeout(ctx, q.call)
	defer cancel()
	answers, err := q.store.TakePermits(cctx, all)
	for i, t := range tasks {
		r := permitResponse{err: err}
		if err == nil {
			r.PermitAnswer = answers[i]
		}
		t.response <- r
	}
}

// Limiter is a [Call] of a kind that [Kind.HasLimits].
type Limiter interface {
	// Limits returns the limits of the task by its spec.
	Limits() ([]store.Limit, error)
}

// permits is the [feature] of a task that may have limits, from its options, its kind or its version. The session gets its permits before
// it begins, and the lease itself is the permit, so permits cannot leak.
type permits struct {
	noFeature
	c        *current
	times    *times // nil: the task may execute at any time
	limits   []store.Limit
	version  *store.Versioned // nil: the task has none
	err      error            // of the limits from the kind
	specSize int64            // in bytes
	slotTime time.Duration    // for which the session had a slot before it waited for permits
	granted  bool
	// superseded: a newer version was submitted, and may have executed.
	superseded bool
}

// newPermits returns nil for a task that can have no limits.
func newPermits(c *current, p *store.Plan) *permits {
	if !c.kind.HasLimits && len(p.Options.Limits) == 0 && p.Versioned == nil {
		return nil
	}
	f := &permits{c: c, limits: p.Options.Limits, version: p.Versioned, specSize: int64(len(p.Spec))}
	if f.version != nil {
		f.limits = store.MergeLimits(f.limits, []store.Limit{f.version.Limit()})
	}
	return f
}

// complete adds the limits that the task has by its kind to the limits of its options, once the spec is decoded. A task that is to
// be ended needs no permits.
func (f *permits) complete(t *times) {
	f.times = t
	if !f.c.kind.HasLimits || f.c.control != lifecycle.None {
		return
	}
	var own []store.Limit
	f.err = <-RunIsolated(f.c.ctx, func(context.Context) (err error) {
		own, err = f.c.call.(Limiter).Limits() //nolint:errcheck,forcetypeassert // HasLimits promises it
		return err
	})
	if f.err == nil {
		f.limits = store.MergeLimits(f.limits, own)
	}
}

// took is the time in a slot before the task waited for permits; 0 for a task without limits.
func (f *permits) took() time.Duration {
	if f == nil {
		return 0
	}
	return f.slotTime
}

// between gets the permits of the task, or makes it wait for them.
func (f *permits) between(ctx context.Context) (decision, error) {
	switch {
	case f.granted || f.c.started:
		return decision{}, nil
	case f.err != nil:
		return decision{}, f.err
	case len(f.limits) == 0:
		return decision{}, nil
	}
	r, err := f.c.Permits.request(ctx, store.PermitRequest{Lease: f.c.lease, Limits: f.limits, Versioned: f.version})
	switch {
	case err != nil:
		return decision{}, err
	case r.OK:
		f.granted = true
		return decision{}, nil
	case r.Newest > 0:
		f.superseded = true
		return decision{end: &ending{status: lifecycle.Completed, how: EndStop, detail: lifecycle.SupersededByVersion(f.version.Version, r.Newest), unspent: true}}, nil
	}
	w := f.c.requeue(classify.Clean(fmt.Sprintf(lifecycle.ReasonNoPermit+"%q: at most %d at once", r.Full.Key, r.Full.AtMost)))
	w.At = f.times.earlier(store.Forever)
	return decision{write: w}, nil
}

// isSuperseded reports whether a newer version of the task may have executed, whose effects its Abort could undo. It returns false for
// a task that executes and for the newest, with the permit of the version: no newer one executes before the task has ended.
func (f *permits) isSuperseded(ctx context.Context) (bool, error) {
	if f == nil || f.version == nil || f.granted || f.superseded {
		return f != nil && f.superseded, nil
	}
	r, err := f.c.Permits.request(ctx, store.PermitRequest{Lease: f.c.lease, Limits: []store.Limit{f.version.Limit()}, Versioned: f.version})
	f.superseded = r.Newest > 0
	return f.superseded, err
}

// committed wakes the tasks that wait for permits when this task has left its worker, or waits for permits itself: it may
// have been woken for a permit that it has not requested, and that is still free.
func (f *permits) committed(w *store.Write, _ store.Applied) {
	if w.To != lifecycle.Executing {
		f.gone()
	}
}

// gone implements [feature].
func (f *permits) gone() {
	for _, l := range f.limits {
		f.c.Waiting.Add(l.Key)
	}
}
