package main

import (
	"context"
	"fmt"
)

// inManyProcesses is the scenario with more worker processes than processors, which must not hinder each
// other.
func inManyProcesses(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	n := o.scaled(100_000, 2000)
	ours := func(processes int) func(context.Context) (sample, error) {
		return processDrain(h, openTaskkit, "taskkit", n, processes)
	}
	river := func(processes int) func(context.Context) (sample, error) {
		return processDrain(h, openRiver(riverTuned), "river", n, processes)
	}
	return []contest{{
		title:   fmt.Sprintf("drain of %s tiny tasks by worker processes, of taskkit alone 8", figure(float64(n))),
		metrics: []metric{{name: tasksPerSecond}, {name: cpuPerTask, less: true}},
		sides: []side{
			{us, ours(8)},
			{"taskkit, 4 processes", ours(4)},
			{"taskkit, 2 processes", ours(2)},
			{"taskkit, 1 process", ours(1)},
			{"River tuned, 8 processes", river(8)},
			{"River tuned, 4 processes", river(4)},
			{"River tuned, 2 processes", river(2)},
			{"River tuned, 1 process", river(1)},
		},
		goals: []goal{{"taskkit, 2 processes", tasksPerSecond, 0.9}},
	}}, nil
}
