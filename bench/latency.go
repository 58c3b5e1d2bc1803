package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// latency is scenario 4: the time from the commit of a submission to the first line of
// the task, at 50 a second, with default configurations.
func latency(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return []contest{latencySQLite(h, o)}, nil
	}
	n := o.scaled(500, 100)
	metrics := []metric{{name: "p50 ms", less: true}, {name: "p95 ms", less: true}, {name: "p99 ms", less: true}}
	cs := []contest{
		{
			title:   fmt.Sprintf("latency at 50/s, %d tasks a run, PostgreSQL", n),
			metrics: metrics,
			sides: []side{
				{us, latencyOf(h, openTaskkit, setup{}, n)},
				{"River default", latencyOf(h, openRiver(riverConfig{}), setup{}, n)},
			},
			goals: []goal{
				{"", "p50 ms", 5}, {"", "p99 ms", 20}, {"River default", "p50 ms", 9}, {"River default", "p99 ms", 9},
			},
		}, {
			title:   fmt.Sprintf("latency at 50/s, %d tasks a run, through PgBouncer without LISTEN", n),
			metrics: metrics,
			sides: []side{
				{us, latencyOf(h, openTaskkit, setup{pooler: true}, n)},
				{"River default, poll only", latencyOf(h, openRiver(riverConfig{}), setup{pooler: true}, n)},
			},
		},
	}
	if o.sqlite {
		cs = append(cs, latencySQLite(h, o))
	}
	return cs, nil
}

func latencySQLite(h *host, o options) contest {
	n := o.scaled(500, 100)
	return contest{
		title:   fmt.Sprintf("latency at 50/s, %d tasks a run, SQLite", n),
		metrics: []metric{{name: "p50 ms", less: true}, {name: "p95 ms", less: true}, {name: "p99 ms", less: true}},
		sides: []side{
			{us, latencyOf(h, openTaskkitSQLite, setup{}, n)},
			{"River default", riverSQLite(h, "latency", n)},
		},
		goals: []goal{{"", "p50 ms", 5}, {"", "p99 ms", 20}},
	}
}

// submitEvery is how often a task is submitted.
const submitEvery = 20 * time.Millisecond

// latencyOf measures the latencies of n tasks.
func latencyOf(h *host, open opener, s setup, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, s, func(p peer) (sample, error) {
			var (
				mu      sync.Mutex
				started = make([]time.Time, n+1) // by stamp, from 1
				left    = n
				all     = make(chan struct{})
			)
			stop, err := p.work(ctx, func(stamp int64) {
				now := time.Now()
				mu.Lock()
				defer mu.Unlock()
				if stamp < 1 || int(stamp) > n || !started[stamp].IsZero() {
					return
				}
				started[stamp] = now
				if left--; left == 0 {
					close(all)
				}
			})
			if err != nil {
				return nil, err
			}
			if err := warm(ctx, p); err != nil {
				return nil, errors.Join(err, stop())
			}
			committed, err := submitPaced(ctx, p, n)
			if err != nil {
				return nil, errors.Join(err, stop())
			}
			select {
			case <-all:
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(stuckAfter):
				err = fmt.Errorf("not all of %d tasks have started %v after the last submission", n, stuckAfter)
			}
			if err = errors.Join(err, stop()); err != nil {
				return nil, err
			}
			waits := make([]time.Duration, n)
			for i := range n {
				// A task may start before Submit has returned to its caller.
				waits[i] = max(started[i+1].Sub(committed[i+1]), 0)
			}
			slices.Sort(waits)
			return sample{"p50 ms": quantile(waits, .5), "p95 ms": quantile(waits, .95), "p99 ms": quantile(waits, .99)}, nil
		})
	}
}

// warm submits a task that is not counted and gives the worker a second to be
// up and listening.
func warm(ctx context.Context, p peer) error {
	if err := p.submit(ctx, 0); err != nil {
		return err
	}
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// submitPaced submits n tasks, stamped from 1, and returns by stamp when each
// submission had returned.
func submitPaced(ctx context.Context, p peer, n int) ([]time.Time, error) {
	committed := make([]time.Time, n+1)
	tick := time.NewTicker(submitEvery)
	defer tick.Stop()
	for stamp := 1; stamp <= n; stamp++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := p.submit(ctx, int64(stamp)); err != nil {
			return nil, fmt.Errorf("submit: %w", err)
		}
		committed[stamp] = time.Now()
	}
	return committed, nil
}
