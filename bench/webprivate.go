package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit"
)

// privateCalls are the calls of a job.
var privateCalls = []struct{ method, below, body string }{
	{"GET", "", ""}, {"GET", "/result", ""}, {"GET", "/items", ""}, {"GET", "/preview", ""}, {"GET", "/events", ""},
	{"POST", "/stop", ""}, {"POST", "/pause", ""}, {"POST", "/resume", ""}, {"POST", "/retry", ""}, {"POST", "/approve", ""},
	{"PATCH", "", `{"priority":1}`}, {"DELETE", "", ""},
}

// private is scenario 15: whether the time of an answer reveals that another person's job exists. Each figure is the
// median time of an answer about such a job, divided by the median time of an answer about no job. They alternate.
func private(h *host, o options) ([]contest, error) {
	n := o.scaled(200, 20)
	var metrics []metric
	for _, c := range privateCalls {
		metrics = append(metrics, metric{name: c.method + " " + c.below, info: true})
	}
	var cs []contest
	add := func(database string, open opener) {
		cs = append(cs, contest{
			title:   fmt.Sprintf("time of answers about another person's job against those about none, %s of each, %s", figure(float64(n)), database),
			metrics: metrics, sides: []side{{us, privateOf(h, open, n)}},
		})
	}
	if o.postgres {
		add("PostgreSQL", openTaskkit)
	}
	if o.sqlite {
		add("SQLite", openTaskkitSQLite)
	}
	return cs, nil
}

// privateOf measures n answers of each kind and call.
func privateOf(h *host, open opener, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			id, err := tinytask.Submit(ctx, k.db, tiny.Spec{Stamp: 1}, taskkit.OwnedBy(uuid.New()))
			if err != nil {
				return nil, err
			}
			w, err := startWeb(ctx, k)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, w.stop()) }()
			c, err := dialWeb(ctx, w.address)
			if err != nil {
				return nil, err
			}
			defer c.close()
			person := uuid.NewString()
			got = sample{}
			for _, call := range privateCalls {
				timed := func(id taskkit.ID) (time.Duration, error) {
					began := time.Now()
					status, body, err := c.do(webRequest(call.method, "/jobs/"+id.String()+call.below, person, call.body))
					if err == nil && status != 404 && (call.method != "DELETE" || status != 204) {
						err = fmt.Errorf("%s %s was answered with %d %.200s", call.method, call.below, status, body)
					}
					return time.Since(began), err
				}
				var times [2][]time.Duration
				for i := range 2 * n {
					about := id
					if i%2 == 1 {
						about = uuid.New()
					}
					took, err := timed(about)
					if err != nil {
						return nil, err
					}
					times[i%2] = append(times[i%2], took)
				}
				slices.Sort(times[0])
				slices.Sort(times[1])
				got[call.method+" "+call.below] = float64(times[0][n/2]) / float64(times[1][n/2])
			}
			return got, nil
		})
	}
}
