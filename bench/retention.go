package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
)

// rowsPerSecond is a metric.
const rowsPerSecond = "rows/s"

// keeping is the side that a drain beside the cleaner is compared with.
const keeping = "taskkit, all is kept for ever"

// The past of six years ago, for both databases: tasks that have ended, each with a result
// that has expired, tasks that wait, and events.
const (
	pastTasks = `INSERT INTO {s}taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id,
  execution_component_name, execution_spec, workflow_status, queue, created_date, modified_date, not_before,
  execution_started_date, workflow_stopped_date, fence)
SELECT {id}, {nobody}, {nobody}, {nobody}, {nobody}, 'tiny', '{"t":1}', '{status}', 'past', {then}, {then}, {then}, {ended}, {ended}, 1
FROM {numbers}`
	pastResults = `INSERT INTO {s}taskkit_task_result (id, task_id, result, finished_date, fetched_date, expiry_date)
SELECT {id}, {id}, '{"items":4}', {then}, CASE WHEN i % 2 = 0 THEN {then} END, {then} FROM {numbers}`
	pastEvents = `INSERT INTO {s}taskkit_task_event (id, task_id, created_date, action, was)
SELECT {id}, {nobody}, {then}, 'pause', 'QUEUED' FROM {numbers}`
)

// retention is scenario 11: how fast each period removes a million rows, and how much slower the
// drain of tasks is beside a worker that removes.
func retention(h *host, o options) ([]contest, error) {
	old, n := o.scaled(1_000_000, 10_000), o.scaled(100_000, 1000)
	var cs []contest
	add := func(database string, open opener) {
		sides := make([]side, 0, 4)
		for _, what := range []string{"results", "ended tasks", "idle tasks", "events"} {
			sides = append(sides, side{what, removed(h, open, what, old)})
		}
		cs = append(cs, contest{
			title:   fmt.Sprintf("removing %s rows of each period without a pause, %s", figure(float64(old)), database),
			metrics: []metric{{name: rowsPerSecond}},
			sides:   sides,
		}, contest{
			title:   fmt.Sprintf("drain of %s tiny tasks beside a worker that removes %s ended ones, %s", figure(float64(n)), figure(float64(old)), database),
			metrics: []metric{{name: tasksPerSecond}},
			sides: []side{
				{us, besideCleaner(h, open, n, old, taskkit.Retention{})},
				{keeping, besideCleaner(h, open, n, old, taskkit.Retention{
					Fetched: taskkit.Never, Unfetched: taskkit.Never, Ended: taskkit.Never, Events: taskkit.Never,
				})},
			},
			goals: []goal{{keeping, tasksPerSecond, 0.9}},
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

// makePast stores a past in a database, without the triggers, which would refuse it.
func makePast(ctx context.Context, k *kit, n int, statements ...string) error {
	words := []string{
		"{s}", "", "{nobody}", "'00000000-0000-4000-8000-000000000000'", "{then}", "'2020-01-01 00:00:00.000'",
		"{id}", "printf('%08x-%04x-7000-8000-000000000000', (1577836800000 + i) >> 16, (1577836800000 + i) & 65535)",
		"{numbers}", fmt.Sprintf("(WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c) s", n),
	}
	if k.name != "" {
		words = []string{
			"{s}", "taskkit.", "{nobody}", "'00000000-0000-4000-8000-000000000000'::uuid", "{then}", "'2020-01-01'::timestamptz",
			"{id}", "(lpad(to_hex(1577836800000 + i), 12, '0') || '70008000000000000000')::uuid",
			"{numbers}", fmt.Sprintf("generate_series(1::bigint, %d) s(i)", n),
		}
	}
	off, on, err := k.triggers(ctx)
	if err != nil {
		return err
	}
	for i := range statements {
		statements[i] = strings.NewReplacer(words...).Replace(statements[i])
	}
	for _, statement := range append(append(off, statements...), on...) {
		if _, err := k.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make a past by %.80q: %w", statement, err)
		}
	}
	return nil
}

// triggers returns the statements that take the triggers of tasks away, and those that put
// them back.
func (k *kit) triggers(ctx context.Context) (off, on []string, err error) {
	if k.name != "" {
		const table = "ALTER TABLE taskkit.taskkit_queued_task "
		return []string{table + "DISABLE TRIGGER USER"}, []string{table + "ENABLE TRIGGER USER"}, nil
	}
	rows, err := k.db.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'taskkit_queued_task'")
	if err != nil {
		return nil, nil, fmt.Errorf("list the triggers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, nil, fmt.Errorf("list the triggers: %w", err)
		}
		off, on = append(off, "DROP TRIGGER "+name), append(on, text)
	}
	return off, on, rows.Err()
}

// past returns a statement of a past in which tasks have a status.
func past(status string) string {
	ended := "{then}"
	if status == "QUEUED" {
		ended = "NULL"
	}
	return strings.NewReplacer("{status}", status, "{ended}", ended).Replace(pastTasks)
}

// removed measures how fast n rows of one period are removed.
func removed(h *host, open opener, what string, n int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			statements := map[string][]string{
				"results": {past("COMPLETED"), pastResults}, "ended tasks": {past("COMPLETED")},
				"idle tasks": {past("QUEUED")}, "events": {pastEvents},
			}[what]
			if err := makePast(ctx, k, n, statements...); err != nil {
				return nil, err
			}
			if err := k.quiesce(ctx); err != nil {
				return nil, err
			}
			s, err := dbstore.Open(ctx, k.db, taskkit.DefaultSchema, dbstore.Options{})
			if err != nil {
				return nil, fmt.Errorf("open the store: %w", err)
			}
			defer s.Release(ctx)
			const page = 500
			began, all := time.Now(), 0
			for gone := page; gone == page; all += gone {
				switch what {
				case "results":
					gone, err = s.EraseResults(ctx, page)
				case "events":
					gone, err = s.PruneEvents(ctx, 24*time.Hour, page)
				case "ended tasks":
					var r store.RemovedEnded
					r, err = s.RemoveEnded(ctx, store.EndedTasks{Kind: "tiny", Period: 24 * time.Hour, Limit: page, Items: page})
					gone = len(r.IDs)
				default:
					var r store.RemovedIdle
					r, err = s.RemoveIdle(ctx, store.WaitingTasks{
						Limit: page, Items: page, Youngest: 24 * time.Hour,
						Keep: func(string) store.Retention { return store.Retention{Idle: 24 * time.Hour} },
					})
					gone = len(r.IDs)
				}
				if err != nil {
					return nil, fmt.Errorf("remove %s: %w", what, err)
				}
			}
			if all != n {
				return nil, fmt.Errorf("%d of %d %s were removed", all, n, what)
			}
			return sample{rowsPerSecond: float64(n) / time.Since(began).Seconds()}, nil
		})
	}
}

// besideCleaner measures a drain of n tasks beside a worker that runs none of them and removes
// old rows.
func besideCleaner(h *host, open opener, n, old int, keep taskkit.Retention) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			if err := makePast(ctx, k, old, past("COMPLETED"), pastResults); err != nil {
				return nil, err
			}
			if err := errors.Join(k.fill(ctx, n), k.quiesce(ctx)); err != nil {
				return nil, err
			}
			stop, err := k.serve(ctx, taskkit.Config{Logger: quiet(), Queues: []string{"nobody"}, Retention: keep}, func(int64) {})
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, stop()) }()
			removes := keep == taskkit.Retention{}
			if removes { // it begins a minute after its start
				if err := untilEvery(ctx, 100*time.Millisecond, k.hasRemoved); err != nil {
					return nil, err
				}
			}
			took, err := drained(ctx, p, n, false)
			if err != nil {
				return nil, err
			}
			if left, err := k.results(ctx); removes && (err != nil || left == 0) {
				return nil, errors.Join(err, errors.New("the results were gone before the drain had ended: use more of them"))
			}
			return sample{tasksPerSecond: float64(n) / took.Seconds()}, nil
		})
	}
}

// results returns whether there are results that could expire (1) or not (0).
func (k *kit) results(ctx context.Context) (n int, err error) {
	table := "taskkit_task_result"
	if k.name != "" {
		table = "taskkit." + table
	}
	err = k.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+table+
		" WHERE expiry_date IS NOT NULL AND result IS NOT NULL LIMIT 1) s").Scan(&n)
	return n, err
}

// hasRemoved reports whether a worker has begun to erase results.
func (k *kit) hasRemoved(ctx context.Context) (bool, error) {
	table := "taskkit_task_result"
	if k.name != "" {
		table = "taskkit." + table
	}
	var begun bool
	err := k.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM (SELECT result FROM "+table+" ORDER BY id LIMIT 1000) s WHERE result IS NULL)").Scan(&begun)
	return begun, err
}
