package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// horizonMost bounds a drain beside a reader. One that has not ended by then is measured by the
// tasks that have run.
const horizonMost = 10 * time.Minute

// horizon is the scenario with a reader whose snapshot is older than the first task: no version
// of a row and no index entry can be removed while the tasks are drained.
func horizon(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	n := o.scaled(100_000, 2000)
	const nobody = "taskkit, nobody reads"
	return []contest{{
		title:   fmt.Sprintf("drain of %s tiny tasks beside a reader with a snapshot from before them", figure(float64(n))),
		metrics: []metric{{name: tasksPerSecond}, {name: claimP99, less: true}},
		sides: []side{
			{us, besideReader(h, openTaskkit, n, true)},
			{nobody, besideReader(h, openTaskkit, n, false)},
			{"River tuned", besideReader(h, openRiver(riverTuned), n, true)},
			{"River tuned, nobody reads", besideReader(h, openRiver(riverTuned), n, false)},
		},
		goals: []goal{{nobody, tasksPerSecond, 0.8}},
	}}, nil
}

// besideReader measures a drain of n tasks. With reads a reader has had its snapshot since before
// the first was submitted.
func besideReader(h *host, open opener, n int, reads bool) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		t := &tracer{}
		return with(ctx, h, open, setup{tracer: t}, func(p peer) (got sample, err error) {
			if reads {
				release, pinned := h.pin(ctx, p)
				if pinned != nil {
					return nil, pinned
				}
				defer func() { err = errors.Join(err, release()) }()
			}
			if err := p.fill(ctx, n); err != nil {
				return nil, err
			}
			if err := p.quiesce(ctx); err != nil {
				return nil, err
			}
			t.reset()
			ran, took, err := drainedWithin(ctx, p, n, horizonMost)
			if err != nil {
				return nil, err
			}
			return sample{tasksPerSecond: float64(ran) / took.Seconds(), claimP99: t.p99()}, nil
		})
	}
}

// drainedWithin is drained with a time limit. It returns how many tasks have run.
func drainedWithin(ctx context.Context, p peer, n int, most time.Duration) (int, time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var ran atomic.Int64
	enough := make(chan struct{})
	began := time.Now()
	stop, err := p.work(ctx, func(int64) {
		if ran.Add(1) == int64(n) {
			close(enough)
		}
	})
	if err != nil {
		return 0, 0, err
	}
	err = wait(limited, enough, &ran)
	if err == nil {
		err = until(limited, p.done)
	}
	took := time.Since(began)
	if limited.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return int(ran.Load()), took, errors.Join(err, stop())
}
