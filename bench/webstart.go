package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit"
)

// startClients is how many clients start jobs at once.
const startClients = 8

const (
	overHTTP    = us
	submitAlone = "Submit alone"
)

// start is scenario 13: starts of jobs over HTTP, in another process, against Submit in this one.
func start(h *host, o options) ([]contest, error) {
	n := o.scaled(16_000, 100)
	var cs []contest
	add := func(database string, open opener) {
		cs = append(cs, contest{
			title:   fmt.Sprintf("starts over HTTP, %d clients, %s", startClients, database),
			metrics: []metric{{name: tasksPerSecond}, {name: serverPerTask, less: true}},
			sides:   []side{{overHTTP, startsOf(h, open, n, true)}, {submitAlone, startsOf(h, open, n, false)}},
			goals:   []goal{{submitAlone, tasksPerSecond, 0.7}},
		})
	}
	if o.postgres {
		add("PostgreSQL", openTaskkit)
	}
	if o.sqlite {
		add("SQLite", openTaskkitSQLite)
		cs[len(cs)-1].metrics = cs[len(cs)-1].metrics[:1]
	}
	return cs, nil
}

// startsOf measures n starts.
func startsOf(h *host, open opener, n int, web bool) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			person := uuid.New()
			calls := make([]func() error, startClients)
			for i := range calls {
				calls[i] = func() error {
					_, err := tinytask.Submit(ctx, k.db, tiny.Spec{Stamp: 1}, taskkit.OwnedBy(person))
					return err
				}
			}
			if web {
				w, err := startWeb(ctx, k)
				if err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, w.stop()) }()
				for i := range calls {
					c, err := dialWeb(ctx, w.address)
					if err != nil {
						return nil, err
					}
					defer c.close()
					calls[i] = func() error {
						status, body, err := c.do(webRequest("POST", webPath, person.String(), `{"t":1}`))
						if err == nil && status != 202 {
							err = fmt.Errorf("a start was answered with %d %s", status, body)
						}
						return err
					}
				}
			}
			for _, call := range calls { // connections are opened before the clock starts
				if err := call(); err != nil {
					return nil, err
				}
			}
			if err := k.quiesce(ctx); err != nil {
				return nil, err
			}
			cpu, err := h.used(ctx)
			if err != nil {
				return nil, err
			}
			took, err := together(calls, n)
			if err != nil {
				return nil, err
			}
			got = sample{tasksPerSecond: float64(n) / took.Seconds()}
			return got, h.since(ctx, cpu, n, got, cpuPerTask, serverPerTask)
		})
	}
}
