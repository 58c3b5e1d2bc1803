package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/bench/executors/parts"
	"taskkit.dev/bench/gen/partstask"
	"taskkit.dev/taskkit"
)

// requested measures a request on a task with n open buckets, or failed ones for a retry,
// until a query finds that all of them have followed.
func requested(h *host, open opener, what string, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			r := request{k: k, n: n, client: taskkit.NewClient(k.db)}
			stop, err := k.serve(ctx, taskkit.Config{Logger: quiet(), Slots: 4}, func(int64) {})
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, stop()) }()
			spec := parts.Spec{Buckets: n, Items: 100_000, WaitMS: 1, Fail: what == "retry"}
			if r.id, err = partstask.Submit(ctx, k.db, spec, taskkit.System(), taskkit.WithMaxParallel(n)); err != nil {
				return nil, err
			}
			return r.measure(ctx, what)
		})
	}
}

// request is a request on a parent.
type request struct {
	k      *kit
	client *taskkit.Client
	id     taskkit.ID
	n      int
}

func (r *request) measure(ctx context.Context, what string) (sample, error) {
	first := fmt.Sprintf("SELECT count(*) >= %d FROM {s}taskkit_queued_task WHERE parent_id = $1", r.n)
	if what == "retry" {
		first = "SELECT count(*) = 1 FROM {s}taskkit_queued_task WHERE id = $1 AND workflow_status = 'FAILURE'"
	}
	if err := r.until(ctx, first); err != nil {
		return nil, fmt.Errorf("wait for the children: %w", err)
	}
	paused := fmt.Sprintf("SELECT count(*) = %d FROM {s}taskkit_queued_task WHERE parent_id = $1 AND control = 'PAUSE'", r.n)
	if what == "resume" {
		if _, err := r.client.Pause(ctx, r.id); err != nil {
			return nil, err
		}
		if err := r.until(ctx, paused); err != nil {
			return nil, fmt.Errorf("wait for the pause: %w", err)
		}
	}
	do := map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
		"pause": r.client.Pause, "resume": r.client.Resume, "stop": r.client.Stop, "delete": r.client.Delete, "retry": r.client.Retry,
	}[what]
	follows := map[string]string{
		"pause":  paused,
		"resume": "SELECT count(*) = 0 FROM {s}taskkit_queued_task WHERE parent_id = $1 AND control = 'PAUSE'",
		"stop":   "SELECT count(*) = 1 FROM {s}taskkit_queued_task WHERE id = $1 AND workflow_status = 'COMPLETED'",
		"delete": "SELECT count(*) = 0 FROM {s}taskkit_queued_task WHERE id = $1 OR parent_id = $1",
		"retry":  fmt.Sprintf("SELECT count(*) >= %d FROM {s}taskkit_task_event WHERE action = 'retry' AND task_id <> $1", r.n),
	}[what]
	began := time.Now()
	if _, err := do(ctx, r.id); err != nil {
		return nil, err
	}
	err := r.until(ctx, follows)
	return sample{seconds: time.Since(began).Seconds()}, err
}

// until waits until a query of the parent returns true.
func (r *request) until(ctx context.Context, query string) error {
	return untilEvery(ctx, 10*time.Millisecond, func(ctx context.Context) (is bool, err error) {
		err = r.k.db.QueryRowContext(ctx, r.k.sql(query), r.id.String()).Scan(&is)
		return is, err
	})
}
