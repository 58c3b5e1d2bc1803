package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// submit is scenario 3: the costs of a service that submits tasks.
func submit(h *host, o options) ([]contest, error) {
	var cs []contest
	for _, c := range []struct {
		what       string
		goroutines int
		calls      int
		call       submitCall
		goal       float64
		asynq      bool
	}{
		{"single submits, 1 goroutine", 1, 2000, submitOne, 2, true},
		{"single submits, 8 goroutines", 8, 16_000, submitOne, 2, true},
		{"1,000 tasks a call, 1 goroutine", 1, 100, submitPage, 1.5, false},
		{"in the caller's transaction beside one row, 8 goroutines", 8, 8000, submitInTx, 0, false},
	} {
		calls := o.scaled(c.calls, 20)
		of := func(open opener) func(context.Context) (sample, error) {
			return submitsOf(h, open, setup{}, c.goroutines, calls, c.call)
		}
		if o.postgres {
			sides := []side{{us, of(openTaskkit)}, {"River", of(openRiver(riverConfig{}))}, {"plain SQL", of(openPlain)}}
			if c.asynq {
				sides = append(sides, side{"asynq, not durable", of(openAsynq(1))})
			}
			contest := contest{title: c.what + ", PostgreSQL", metrics: submitMetrics(), sides: sides}
			if c.goal > 0 {
				contest.goals = []goal{{"River", tasksPerSecond, c.goal}}
			}
			cs = append(cs, contest)
		}
		if o.sqlite {
			sides := []side{{us, of(openTaskkitSQLite)}, {"plain SQL", of(openPlainSQLite)}}
			if c.goroutines == 1 {
				mode := "submit"
				if c.call == submitPage {
					mode = "submitmany"
				}
				sides = append(sides, side{"River", riverSQLite(h, mode, calls)})
			}
			cs = append(cs, contest{title: c.what + ", SQLite", metrics: submitMetrics(), sides: sides})
		}
	}
	return cs, nil
}

func submitMetrics() []metric {
	return []metric{{name: tasksPerSecond}, {name: cpuPerTask, less: true}, {name: serverPerTask, less: true}}
}

// submitCall is a way to submit.
type submitCall int

const (
	submitOne submitCall = iota
	submitPage
	submitInTx
)

// do makes one call and returns how many tasks it queued.
func (c submitCall) do(ctx context.Context, p peer) (int, error) {
	switch c {
	case submitPage:
		return pageSize, p.submitMany(ctx, pageSize)
	case submitInTx:
		return 1, p.submitTx(ctx, 1)
	default:
		return 1, p.submit(ctx, 1)
	}
}

// warmCalls is how many calls each goroutine makes before the clock starts. They are made at the
// same time, so that each goroutine has its own connection then; PostgreSQL plans the first five
// executions of a statement on a connection anew.
const warmCalls = 10

// submitsOf measures calls from a number of goroutines.
func submitsOf(h *host, open opener, s setup, goroutines, calls int, call submitCall) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, s, func(p peer) (sample, error) {
			if err := p.quiesce(ctx); err != nil {
				return nil, err
			}
			// After the warm calls, since PostgreSQL plans again after an ANALYZE.
			warm := slices.Repeat([]func() error{func() error {
				_, err := call.do(ctx, p)
				return err
			}}, goroutines)
			if _, err := together(warm, warmCalls*goroutines); err != nil {
				return nil, fmt.Errorf("submit before the clock starts: %w", err)
			}
			cpu, err := h.used(ctx)
			if err != nil {
				return nil, err
			}
			var tasks atomic.Int64
			took, err := together(slices.Repeat([]func() error{func() error {
				n, err := call.do(ctx, p)
				tasks.Add(int64(n))
				return err
			}}, goroutines), calls)
			if err != nil {
				return nil, fmt.Errorf("submit: %w", err)
			}
			n := int(tasks.Load())
			got := sample{tasksPerSecond: float64(n) / took.Seconds()}
			return got, h.since(ctx, cpu, n, got, cpuPerTask, serverPerTask)
		})
	}
}

// together makes n calls, one after another by each caller, and returns how long all took.
func together(calls []func() error, n int) (time.Duration, error) {
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		errs  = make([]error, len(calls))
		began = time.Now()
	)
	for i, call := range calls {
		wg.Go(func() {
			for errs[i] == nil && next.Add(1) <= int64(n) {
				errs[i] = call()
			}
		})
	}
	wg.Wait()
	return time.Since(began), errors.Join(errs...)
}
