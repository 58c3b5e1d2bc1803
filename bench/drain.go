package main

import (
	"context"
	"fmt"
)

// perSecond and the others name metrics.
const (
	tasksPerSecond = "tasks/s"
	walPerTask     = "WAL bytes/task"
)

// riverCompleteTx is the name of a side.
const riverCompleteTx = "River tuned, JobCompleteTx"

// drain is scenario 2: waiting tasks are run until all are done in the database.
func drain(h *host, o options) ([]contest, error) {
	var cs []contest
	metrics := []metric{
		{name: tasksPerSecond}, {name: cpuPerTask, less: true}, {name: serverPerTask, less: true}, {name: walPerTask, less: true},
	}
	if o.postgres {
		n := o.scaled(100_000, 1000)
		cs = append(cs, contest{
			title:   fmt.Sprintf("drain of %s tiny tasks, PostgreSQL", figure(float64(n))),
			metrics: metrics,
			sides: []side{
				{us, drainOf(h, openTaskkit, setup{}, n)},
				{"River tuned", drainOf(h, openRiver(riverTuned), setup{}, n)},
				// A thousand a second at any size: a smaller drain has the same rate.
				{"River default", drainOf(h, openRiver(riverConfig{}), setup{}, max(n/5, 1000))},
				{"asynq 50 slots, not durable", drainOf(h, openAsynq(50), setup{}, max(n/5, 1000))},
				{"plain SQL, 2 connections", drainOf(h, openPlain, setup{}, n)},
			},
			goals: []goal{
				{"River tuned", tasksPerSecond, 2}, {"River default", tasksPerSecond, 20}, {"River tuned", walPerTask, 2},
			},
		})
		n = o.scaled(20_000, 500)
		cs = append(cs, contest{
			title:   fmt.Sprintf("drain of %s tasks with an INSERT each, PostgreSQL", figure(float64(n))),
			metrics: metrics,
			sides: []side{
				{us, drainOf(h, openTaskkit, setup{insert: true}, n)},
				{riverCompleteTx, drainOf(h, openRiver(riverTuned), setup{insert: true}, n)},
				{"River default, JobCompleteTx", drainOf(h, openRiver(riverConfig{}), setup{insert: true}, n)},
				{"plain SQL, 10 connections", drainOf(h, openPlain, setup{insert: true}, n)},
			},
			goals: []goal{{riverCompleteTx, tasksPerSecond, 1.7}},
		})
	}
	if o.sqlite {
		n := o.scaled(100_000, 1000)
		cs = append(cs, contest{
			title:   fmt.Sprintf("drain of %s tiny tasks, SQLite", figure(float64(n))),
			metrics: metrics[:2],
			sides: []side{
				{us, drainOf(h, openTaskkitSQLite, setup{}, n)},
				{"River tuned", riverSQLite(h, "drain", max(n/10, 500))},
				{"plain SQL", drainOf(h, openPlainSQLite, setup{}, n)},
			},
			goals: []goal{{"plain SQL", tasksPerSecond, 0.4}},
		}, contest{
			title:   fmt.Sprintf("drain of %s tasks with an INSERT each, SQLite", figure(float64(n/10))),
			metrics: metrics[:2],
			sides: []side{
				{us, drainOf(h, openTaskkitSQLite, setup{insert: true}, n/10)},
				{"plain SQL", drainOf(h, openPlainSQLite, setup{insert: true}, n/10)},
			},
		})
	}
	return cs, nil
}

// drainOf measures a drain of n tasks.
func drainOf(h *host, open opener, s setup, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, s, func(p peer) (sample, error) {
			if err := p.fill(ctx, n); err != nil {
				return nil, fmt.Errorf("queue %d tasks: %w", n, err)
			}
			if err := p.quiesce(ctx); err != nil {
				return nil, err
			}
			before, err := h.walPosition(ctx)
			if err != nil {
				return nil, err
			}
			cpu, err := h.used(ctx)
			if err != nil {
				return nil, err
			}
			took, err := drained(ctx, p, n, true)
			if err != nil {
				return nil, err
			}
			got := sample{tasksPerSecond: float64(n) / took.Seconds()}
			if err := h.since(ctx, cpu, n, got, cpuPerTask, serverPerTask); err != nil {
				return nil, err
			}
			after, err := h.walPosition(ctx)
			if err != nil {
				return nil, err
			}
			got[walPerTask] = float64(after.bytes-before.bytes) / float64(n)
			return got, nil
		})
	}
}
