package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/bench/executors/people"
	"taskkit.dev/bench/gen/peopletask"
	"taskkit.dev/taskkit"
)

// The metrics from the write-ahead log.
const (
	entriesPerTask  = "index entries/task"
	versionsPerTask = "row versions/task"
)

// curve is scenario 7: the gain of more processes, and the costs of a task.
func curve(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	n, everybody := o.scaled(100_000, 2000), o.scaled(1_000_000, 10_000)
	var cs []contest
	for _, processes := range []int{1, 2, 4, 8} {
		cs = append(cs, contest{
			title: fmt.Sprintf("drain of %s tiny tasks by %d processes", figure(float64(n)), processes),
			metrics: []metric{
				{name: tasksPerSecond},
				{name: cpuPerTask, less: true},
				{name: walPerTask, less: true},
				{name: entriesPerTask, less: true},
				{name: versionsPerTask, less: true},
			},
			sides: []side{
				{us, processDrain(h, openTaskkit, "taskkit", n, processes)},
				{"River tuned", processDrain(h, openRiver(riverTuned), "river", n, processes)},
			},
			goals: []goal{{"River tuned", walPerTask, 2}},
		})
	}
	for _, processes := range []int{1, 2, 4, 8} {
		cs = append(cs, contest{
			title:   fmt.Sprintf("update of %s people in as many tasks as processes: %d", figure(float64(everybody)), processes),
			metrics: []metric{{name: itemsPerSecond}, {name: cpuPerItem, less: true}},
			sides:   []side{{us, processBulk(h, everybody, processes)}},
		})
	}
	return cs, nil
}

// processDrain measures a drain by processes.
func processDrain(h *host, open opener, kind string, n, processes int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
			dsn, err := h.dsnOf(p)
			if err != nil {
				return nil, err
			}
			if err := p.fill(ctx, n); err != nil {
				return nil, err
			}
			before, err := h.walPosition(ctx)
			if err != nil {
				return nil, err
			}
			took, cpu, err := worked(ctx, p, kind, dsn, processes)
			if err != nil {
				return nil, err
			}
			got := sample{
				tasksPerSecond: float64(n) / took.Seconds(),
				cpuPerTask:     perUnit(cpu, n),
			}
			return got, h.walTold(ctx, before, n, got)
		})
	}
}

// worked runs processes on a peer's database until all tasks are done.
func worked(ctx context.Context, p peer, kind, dsn string, processes int) (took, cpu time.Duration, err error) {
	c, err := startProcesses(ctx, kind, dsn, processes)
	if err != nil {
		return 0, 0, err
	}
	if err := p.quiesce(ctx); err != nil {
		return 0, 0, errors.Join(err, ignore(c.stop()))
	}
	began := time.Now()
	err = c.begin()
	if err == nil {
		err = untilEvery(ctx, 20*time.Millisecond, p.done)
	}
	took = time.Since(began)
	cpu, stopped := c.stop()
	return took, cpu, errors.Join(err, stopped)
}

// processBulk measures the update of everybody, cut into as many tasks as there are
// processes.
func processBulk(h *host, n, processes int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, openTaskkit, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, fmt.Errorf("opened %T", p)
			}
			dsn, err := h.dsnOf(p)
			if err != nil {
				return nil, err
			}
			if err := execute(ctx, dsn, fmt.Sprintf(makePeople, n), "VACUUM people"); err != nil {
				return nil, err
			}
			for i := range processes {
				_, err := peopletask.Submit(ctx, k.db, people.Spec{
					Status: "paused", Batch: batchSize, From: int64(n * i / processes), To: int64(n * (i + 1) / processes),
				}, taskkit.System())
				if err != nil {
					return nil, err
				}
			}
			took, cpu, err := worked(ctx, p, "taskkit", dsn, processes)
			if err != nil {
				return nil, err
			}
			return sample{
				itemsPerSecond: float64(n) / took.Seconds(),
				cpuPerItem:     perUnit(cpu, n),
			}, nil
		})
	}
}
