package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/bench/executors/parts"
	"taskkit.dev/bench/executors/piece"
	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/partstask"
	"taskkit.dev/bench/gen/piecetask"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit"
)

// Metrics of fan-out.
const (
	heapMB    = "MB at most" // of memory of this process
	othersMax = "ms at most" // that other tasks waited
	seconds   = "s"
)

// plainTasks is the side that buckets are compared with.
const plainTasks = "taskkit, as many plain tasks"

// fanout is scenario 12: buckets against the same work as plain tasks, the gain of a second
// process, the memory of very many buckets, and the time of requests on a parent.
func fanout(h *host, o options) ([]contest, error) {
	var cs []contest
	add := func(database string, open opener) {
		long, short := o.scaled(60_000, 2000), 100 // milliseconds of all, and of each
		cs = append(cs,
			inBuckets(h, open, fmt.Sprintf("16 buckets with %d s of work on 4 slots, %s", long/1000, database), 16, 4, long*4/16, 0.999),
			inBuckets(h, open, fmt.Sprintf("256 buckets of %d ms on 8 slots, %s", short, database), 256, 8, short, 1/1.05),
		)
		many := o.scaled(65_536, 2000)
		cs = append(cs, contest{
			title:   fmt.Sprintf("%s buckets, and other tasks beside them, %s", figure(float64(many)), database),
			metrics: []metric{{name: tasksPerSecond}, {name: heapMB, info: true}, {name: othersMax, info: true}},
			sides:   []side{{us, manyBuckets(h, open, many)}},
			rounds:  1,
		})
		children := o.scaled(10_000, 200)
		sides := make([]side, 0, 5)
		for _, what := range []string{"pause", "resume", "stop", "delete", "retry"} {
			sides = append(sides, side{what, requested(h, open, what, children)})
		}
		cs = append(cs, contest{
			title:   fmt.Sprintf("a request on a parent with %s children, until all of them follow, %s", figure(float64(children)), database),
			metrics: []metric{{name: seconds, less: true}},
			sides:   sides,
		})
	}
	if o.postgres {
		add("PostgreSQL", openTaskkit)
		n := o.scaled(40_000, 400)
		cs = append(cs, contest{
			title:   fmt.Sprintf("two processes against one: %d buckets of %d calls of 5 ms, PostgreSQL", shortBuckets, n/shortBuckets),
			metrics: []metric{{name: itemsPerSecond}},
			sides:   []side{{us, inProcesses(h, 2, n/shortBuckets)}, {"one process", inProcesses(h, 1, n/shortBuckets)}},
			goals:   []goal{{"one process", itemsPerSecond, 1.95}},
		})
	}
	if o.sqlite {
		add("SQLite", openTaskkitSQLite)
	}
	return cs, nil
}

// inBuckets compares work in buckets with the same work as plain tasks.
func inBuckets(h *host, open opener, title string, n, slots, ms int, least float64) contest {
	// An item takes 5 ms, so that a bucket has many batches if it is long.
	items := max(ms/5, 1)
	measure := func(submit func(ctx context.Context, k *kit) error) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
				k, ok := p.(*kit)
				if !ok {
					return nil, errNotOffered
				}
				stop, err := k.serve(ctx, taskkit.Config{Logger: quiet(), Slots: slots}, func(int64) {})
				if err != nil {
					return nil, err
				}
				began := time.Now()
				err = submit(ctx, k)
				if err == nil {
					err = untilEvery(ctx, time.Millisecond, k.done)
				}
				took := time.Since(began)
				return sample{itemsPerSecond: float64(n*items) / took.Seconds()}, errors.Join(err, stop())
			})
		}
	}
	return contest{
		title: title, metrics: []metric{{name: itemsPerSecond}},
		sides: []side{
			{us, measure(func(ctx context.Context, k *kit) error {
				_, err := partstask.Submit(ctx, k.db, parts.Spec{Buckets: n, Items: items, WaitMS: 5}, taskkit.System())
				return err
			})},
			{plainTasks, measure(func(ctx context.Context, k *kit) error {
				specs := make([]piece.Spec, n)
				for i := range specs {
					specs[i] = piece.Spec{Items: items, WaitMS: 5}
				}
				_, err := piecetask.SubmitMany(ctx, k.db, specs, taskkit.System())
				return err
			})},
		},
		goals: []goal{{plainTasks, itemsPerSecond, least}},
	}
}

// shortBuckets is large, so that the last buckets, which leave some slots empty, take little of the time: two
// processes with 12 slots each fill four rounds with 96 buckets, and one empty slot costs a fifth of
// the time.
const shortBuckets = 1600

// inProcesses measures shortBuckets buckets of calls in worker processes.
func inProcesses(h *host, processes, items int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, openTaskkit, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			workers, err := startProcesses(ctx, "taskkit", k.dsn, processes)
			if err != nil {
				return nil, err
			}
			if err := workers.begin(); err != nil {
				return nil, errors.Join(err, ignore(workers.stop()))
			}
			began := time.Now()
			_, err = partstask.Submit(ctx, k.db, parts.Spec{Buckets: shortBuckets, Items: items, WaitMS: 5}, taskkit.System())
			if err == nil {
				err = untilEvery(ctx, time.Millisecond, k.done)
			}
			took := time.Since(began)
			return sample{itemsPerSecond: float64(shortBuckets*items) / took.Seconds()}, errors.Join(err, ignore(workers.stop()))
		})
	}
}

// manyBuckets measures a task with very many buckets that do nothing, the memory of this
// process, and how long other tasks wait, which are submitted every half second.
func manyBuckets(h *host, open opener, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			var longest time.Duration
			ran := make(chan time.Duration, 16)
			stop, err := k.serve(ctx, taskkit.Config{Logger: quiet()}, func(stamp int64) { ran <- time.Since(time.Unix(0, stamp)) })
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, stop()) }()
			most := 0.0
			began := time.Now()
			if _, err := partstask.Submit(ctx, k.db, parts.Spec{Buckets: n}, taskkit.System()); err != nil {
				return nil, err
			}
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			for done := false; !done; {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-tick.C:
				}
				most = max(most, residentMB())
				if done, err = k.done(ctx); err != nil {
					return nil, err
				}
				if done {
					break
				}
				if _, err := tinytask.Submit(ctx, k.db, tiny.Spec{Stamp: time.Now().UnixNano()}, taskkit.System()); err != nil {
					return nil, err
				}
				select {
				case waited := <-ran:
					longest = max(longest, waited)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return sample{
				tasksPerSecond: float64(n) / time.Since(began).Seconds(), heapMB: most, othersMax: float64(longest.Milliseconds()),
			}, nil
		})
	}
}

// residentMB is the memory of this process in the machine, 0 where that cannot be read.
func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
