package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/bench/executors/rows"
	"taskkit.dev/bench/gen/rowstask"
	"taskkit.dev/taskkit"
)

// callsPerBatch is a metric: the largest number of calls for a batch.
const callsPerBatch = "calls a batch"

// makeChecked makes the table, which refuses some rows.
const makeChecked = "CREATE TABLE checked (id bigint PRIMARY KEY, value integer NOT NULL CHECK (value > 0))"

// each is scenario 8: one bad row in each batch, found by taskkit.Each, against a
// savepoint for each row.
func each(h *host, o options) ([]contest, error) {
	var cs []contest
	add := func(database string, open opener) {
		n := o.scaled(100_000, 10*batchSize) / batchSize * batchSize
		cs = append(cs, contest{
			title:   fmt.Sprintf("insert of %s rows in batches of %d with a bad row each, %s", figure(float64(n)), batchSize, database),
			metrics: []metric{{name: itemsPerSecond}, {name: callsPerBatch, less: true}},
			sides: []side{
				{us, insertChecked(h, open, n, false)},
				{"taskkit, a savepoint for each row", insertChecked(h, open, n, true)},
			},
			goals: []goal{{"taskkit, a savepoint for each row", itemsPerSecond, 5}, {"", callsPerBatch, 12}},
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

// insertChecked measures one task that inserts n rows.
func insertChecked(h *host, open opener, n int, alone bool) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, fmt.Errorf("opened %T", p)
			}
			if _, err := k.db.ExecContext(ctx, makeChecked); err != nil {
				return nil, fmt.Errorf("make the table: %w", err)
			}
			if err := k.quiesce(ctx); err != nil {
				return nil, err
			}
			began := time.Now()
			id, err := rowstask.Submit(ctx, k.db, rows.Spec{Rows: n, Batch: batchSize, Alone: alone}, taskkit.System())
			if err == nil {
				err = finish(ctx, k, 1)
			}
			if err != nil {
				return nil, err
			}
			took := time.Since(began)
			task, err := rowstask.Get(ctx, taskkit.NewClient(k.db), id)
			if err != nil {
				return nil, err
			}
			var kept int
			err = k.db.QueryRowContext(ctx, "SELECT count(*) FROM checked").Scan(&kept)
			if bad := n / batchSize; err != nil || kept != n-bad || task.Task.Progress.Failed != int64(bad) {
				return nil, fmt.Errorf("%d rows of %d with %+v: the figure is of no use (%w)", kept, n, task.Task.Progress, err)
			}
			return sample{itemsPerSecond: float64(n) / took.Seconds(), callsPerBatch: float64(task.State.Calls)}, nil
		})
	}
}

// insertRows returns the statement that inserts rows into the table. SQLite takes long
// to look up thousands of parameters by name.
func insertRows(named bool) func(rows int) string {
	return func(rows int) string {
		var text strings.Builder
		text.WriteString("INSERT INTO checked (id, value) VALUES ")
		for i := range rows {
			if i > 0 {
				text.WriteString(", ")
			}
			if named {
				fmt.Fprintf(&text, "($%d, $%d)", 2*i+1, 2*i+2)
			} else {
				text.WriteString("(?, ?)")
			}
		}
		return text.String()
	}
}
