package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// claimP99 is a metric.
const claimP99 = "claim p99 ms"

// finishedTasks and queuedTasks fill taskkit's table without the triggers, which would
// refuse a new task that is COMPLETED. The queued tasks are in a queue that no worker of
// the benchmark serves, or in the worker's own.
const (
	finishedTasks = `INSERT INTO taskkit.taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id,
  execution_component_name, execution_spec, workflow_status, scheduling_started_date, execution_started_date, workflow_stopped_date, fence)
SELECT (lpad(to_hex(1600000000000 + i), 12, '0') || '70008000000000000000')::uuid, o, o, o, o,
  'tiny', '{"t":1}', 'COMPLETED', now(), now(), now(), 1
FROM (SELECT i, md5((i %% 1000)::text)::uuid AS o FROM generate_series(1::bigint, %d) i) s`
	queuedTasks = `INSERT INTO taskkit.taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id,
  execution_component_name, execution_spec, queue)
SELECT (lpad(to_hex(1600000000000 + i), 12, '0') || '70008000000000000001')::uuid, o, o, o, o, 'tiny', '{"t":1}', '%s'
FROM (SELECT i, md5((i %% 1000)::text)::uuid AS o FROM generate_series(1::bigint, %d) i) s`
)

// weight is scenario 6: the costs of a table full of old tasks.
func weight(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	n, finished, queued := o.scaled(100_000, 2000), o.scaled(10_000_000, 100_000), o.scaled(1_000_000, 10_000)
	past := &prepared{host: h, finished: finished, queued: queued, queue: "another"}
	sameQueue := &prepared{host: h, finished: finished, queued: queued, queue: "default"}
	metrics := []metric{{name: tasksPerSecond}, {name: claimP99, less: true}}
	hold := max(time.Duration(float64(10*time.Minute)*o.scale), 10*time.Second)
	return []contest{
		{
			title: fmt.Sprintf("drain of %s tiny tasks beside %s finished and %s queued ones, statistics from before them",
				figure(float64(n)), figure(float64(finished)), figure(float64(queued))),
			metrics: metrics,
			sides: []side{
				{us, weighed(h, openTaskkit, past, n)},
				{"taskkit, all queued in the worker's queue", weighed(h, openTaskkit, sameQueue, n)},
				{"taskkit, empty table", weighed(h, openTaskkit, nil, n)},
			},
			goals: []goal{{"taskkit, empty table", tasksPerSecond, 0.9}, {"taskkit, empty table", claimP99, 0.5}},
		}, {
			title: fmt.Sprintf("the last drain of %s tiny tasks in %v, with a reader that pins the horizon for as long",
				figure(float64(n)), hold),
			metrics: metrics,
			sides: []side{
				{us, pinned(h, openTaskkit, n, hold, true)},
				{"taskkit, nobody pins", pinned(h, openTaskkit, n, hold, false)},
				{"River tuned", pinned(h, openRiver(riverTuned), n, hold, true)},
				{"River tuned, nobody pins", pinned(h, openRiver(riverTuned), n, hold, false)},
			},
			rounds: 1,
		},
	}, nil
}

// prepared is a database with a past, made once and copied for each run.
type prepared struct {
	host             *host
	finished, queued int
	queue            string

	once sync.Once
	name string
	err  error
}

// template returns the name of the database to copy.
func (p *prepared) template(ctx context.Context) (string, error) {
	if p == nil {
		return "", nil
	}
	p.once.Do(func() { p.name, p.err = p.make(ctx) })
	return p.name, p.err
}

func (p *prepared) make(ctx context.Context) (string, error) {
	d, err := p.host.database(ctx, "")
	if err != nil {
		return "", err
	}
	k, err := attachTaskkit(ctx, d, setup{}, false)
	if err != nil {
		return "", err
	}
	// The template stays until the server ends; only the pool is closed here.
	if err := k.db.Close(); err != nil {
		return "", fmt.Errorf("close the template's pool: %w", err)
	}
	const table = "ALTER TABLE taskkit.taskkit_queued_task "
	return d.name, execute(ctx, d.dsn,
		table+"DISABLE TRIGGER USER",
		table+"SET (autovacuum_enabled = false)",
		fmt.Sprintf(finishedTasks, p.finished),
		"VACUUM ANALYZE taskkit.taskkit_queued_task", // from here on the statistics are stale
		fmt.Sprintf(queuedTasks, p.queue, p.queued),
		table+"ENABLE TRIGGER USER",
		"CHECKPOINT")
}

// weighed measures a drain of n tasks and its claims beside a past. If the past has
// tasks in the worker's queue, it measures the first n that run.
func weighed(h *host, open opener, past *prepared, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		template, err := past.template(ctx)
		if err != nil {
			return nil, fmt.Errorf("make a past: %w", err)
		}
		t := &tracer{}
		return with(ctx, h, open, setup{template: template, tracer: t}, func(p peer) (sample, error) {
			own := past == nil || past.queue != "default"
			if own {
				if err := p.fill(ctx, n); err != nil {
					return nil, err
				}
			}
			if err := h.admin(ctx, "CHECKPOINT"); err != nil {
				return nil, err
			}
			// Until the last has run: done would also wait for other tasks.
			took, err := drained(ctx, p, n, false)
			if err != nil {
				return nil, err
			}
			return sample{tasksPerSecond: float64(n) / took.Seconds(), claimP99: t.p99()}, nil
		})
	}
}

// pinned drains n tasks again and again for a time, and measures the last drain.
// With pin a reader keeps its snapshot all the while, so that no dead row can be
// removed.
func pinned(h *host, open opener, n int, hold time.Duration, pin bool) func(context.Context) (sample, error) {
	return func(ctx context.Context) (got sample, err error) {
		t := &tracer{}
		return with(ctx, h, open, setup{tracer: t}, func(p peer) (sample, error) {
			if pin {
				release, err := h.pin(ctx, p)
				if err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, release()) }()
			}
			for began := time.Now(); ; {
				if err := p.fill(ctx, n); err != nil {
					return nil, err
				}
				if err := h.admin(ctx, "CHECKPOINT"); err != nil {
					return nil, err
				}
				t.reset()
				took, err := drained(ctx, p, n, true)
				if err != nil {
					return nil, err
				}
				if time.Since(began) >= hold {
					return sample{tasksPerSecond: float64(n) / took.Seconds(), claimP99: t.p99()}, nil
				}
			}
		})
	}
}

// pin opens a reader that keeps its snapshot until release. A snapshot pins the
// horizon of its own database only.
func (h *host) pin(ctx context.Context, p peer) (release func() error, err error) {
	dsn, err := h.dsnOf(p)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("reach the benchmark's PostgreSQL: %w", err)
	}
	release = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return conn.Close(ctx)
	}
	for _, statement := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM pg_class"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("pin the horizon: %w", err), release())
		}
	}
	return release, nil
}
