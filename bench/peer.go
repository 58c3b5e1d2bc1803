package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// peer is a task queue under measurement, on a database of its own that close
// removes. Its tasks only report that they ran; opened with insert, they write a row in
// the transaction that ends them.
type peer interface {
	// fill queues n tasks in bulk, the fastest way there is for a user.
	fill(ctx context.Context, n int) error
	// submit queues one task that carries a stamp.
	submit(ctx context.Context, stamp int64) error
	// submitMany queues n tasks by one call.
	submitMany(ctx context.Context, n int) error
	// submitTx writes a row and queues a task in one transaction.
	submitTx(ctx context.Context, stamp int64) error
	// work starts a worker that calls ran as the first thing in each task. Stop
	// returns when it has ended.
	work(ctx context.Context, ran func(stamp int64)) (stop func() error, err error)
	// done reports whether no task waits or runs in the database.
	done(ctx context.Context) (bool, error)
	// quiesce brings the database to rest before the clock starts.
	quiesce(ctx context.Context) error
	close() error
}

// setup is how a peer is opened.
type setup struct {
	insert   bool   // tasks write a row
	pooler   bool   // through PgBouncer, and nothing beside it
	network  bool   // through the proxy that is as far away as a network
	template string // a prepared database to copy
	tracer   *tracer
	// telemetry: with metrics and traces
	telemetry bool
}

// opener opens a peer on a database of its own.
type opener func(ctx context.Context, h *host, s setup) (peer, error)

// errNotOffered: a peer does not support a call.
var errNotOffered = errors.New("the peer offers no way to do this")

// pagesOf cuts n tasks into calls of at most pageSize.
func pagesOf(n int, f func(n int) error) error {
	for ; n > 0; n -= pageSize {
		if err := f(min(n, pageSize)); err != nil {
			return err
		}
	}
	return nil
}

// pageSize is how many tasks a bulk call queues.
const pageSize = 1000

// pollEvery is the interval of the polls after all tasks have run, until all are done in the
// database.
const pollEvery = 2 * time.Millisecond

// stuckAfter is when a measurement without progress is given up.
const stuckAfter = 2 * time.Minute

// drained starts a worker and waits until n tasks have run and, if all is set, are done in
// the database. It returns the duration.
func drained(ctx context.Context, p peer, n int, all bool) (time.Duration, error) {
	var ran atomic.Int64
	enough := make(chan struct{})
	began := time.Now()
	stop, err := p.work(ctx, func(int64) {
		if ran.Add(1) == int64(n) {
			close(enough)
		}
	})
	if err != nil {
		return 0, err
	}
	err = wait(ctx, enough, &ran)
	if err == nil && all {
		err = until(ctx, p.done)
	}
	took := time.Since(began)
	if err != nil {
		err = fmt.Errorf("%d of %d tasks ran: %w", ran.Load(), n, err)
	}
	return took, errors.Join(err, stop())
}

// wait waits for a channel, as long as a counter moves.
func wait(ctx context.Context, enough <-chan struct{}, ran *atomic.Int64) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, moved := ran.Load(), time.Now()
	for {
		select {
		case <-enough:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if now := ran.Load(); now != last {
				last, moved = now, time.Now()
			}
			if time.Since(moved) > stuckAfter {
				return fmt.Errorf("nothing has run for %v", stuckAfter)
			}
		}
	}
}

// until polls a condition.
func until(ctx context.Context, is func(context.Context) (bool, error)) error {
	return untilEvery(ctx, pollEvery, is)
}

// untilEvery polls a condition at an interval.
func untilEvery(ctx context.Context, interval time.Duration, is func(context.Context) (bool, error)) error {
	every := time.NewTicker(interval)
	defer every.Stop()
	deadline := time.After(5 * stuckAfter)
	for {
		ok, err := is(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return fmt.Errorf("%v later the database still does not say that all tasks are done", 5*stuckAfter)
		case <-every.C:
		}
	}
}

// with opens a peer, gives it to f and closes it.
func with(ctx context.Context, h *host, open opener, s setup, f func(p peer) (sample, error)) (got sample, err error) {
	p, err := open(ctx, h, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return f(p)
}
