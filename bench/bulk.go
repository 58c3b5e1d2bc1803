package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"taskkit.dev/bench/executors/people"
	"taskkit.dev/bench/gen/peopletask"
	"taskkit.dev/taskkit"
)

// updatePeople is the domain work of a batch, the same for every side. It is small, so
// that the cost of a framework is visible.
const updatePeople = "UPDATE people SET status = $1 WHERE id > $2 AND id <= $3"

// makePeople makes the table and its people.
const makePeople = `CREATE TABLE people AS
SELECT i AS id, 'person ' || i AS name, 'active'::text AS status FROM generate_series(1::bigint, %d) i;
ALTER TABLE people ADD PRIMARY KEY (id)`

// batchSize is how many people a transaction changes.
const batchSize = 500

// Names of sides.
const (
	loopSide    = "loop by hand"
	riverCursor = "River, one job with a cursor"
	steered     = "taskkit, batches as it steers them"
)

// itemsPerSecond is a metric.
const itemsPerSecond = "items/s"

// bulk is scenario 1, the main one: the time to change the status of all people.
func bulk(h *host, o options) ([]contest, error) {
	n := o.scaled(1_000_000, 10_000)
	few := max(n/20, 1000)
	var cs []contest
	metrics := []metric{{name: itemsPerSecond}, {name: cpuPerItem, less: true}, {name: serverPerItem, less: true}}
	if o.postgres {
		of := func(n int, act bulkAction) func(context.Context) (sample, error) {
			return func(ctx context.Context) (sample, error) { return bulkOn(ctx, h, setup{}, n, act) }
		}
		cs = append(cs, contest{
			title:   fmt.Sprintf("update of %s people in batches of %d, PostgreSQL", figure(float64(n)), batchSize),
			metrics: metrics,
			sides: []side{
				{us, of(n, bulkTaskkit(batchSize))},
				{loopSide, of(n, bulkByHand(false))},
				{"loop by hand with a cursor's row", of(n, bulkByHand(true))},
				{riverCursor, of(n, bulkRiverCursor)},
				{"River tuned, one job per person", of(few, bulkRiverEach)},
				{steered, of(n, bulkTaskkit(0))},
			},
			goals: []goal{
				{loopSide, itemsPerSecond, 0.92},
				{"River tuned, one job per person", itemsPerSecond, 20},
				{riverCursor, itemsPerSecond, 1},
			},
			goalsOf: []sideGoal{{steered, goal{loopSide, itemsPerSecond, 1.4}}},
		})
	}
	if o.sqlite {
		of := func(act liteAction) func(context.Context) (sample, error) {
			return func(ctx context.Context) (sample, error) { return bulkOnSQLite(ctx, h, n, act) }
		}
		cs = append(cs, contest{
			title:   fmt.Sprintf("update of %s people in batches of %d, SQLite", figure(float64(n)), batchSize),
			metrics: metrics[:2],
			sides: []side{
				{us, of(runPeople(batchSize))},
				{loopSide, of(func(ctx context.Context, k *kit, n int) error { return loopByHand(ctx, k.db, n, false) })},
				{"loop by hand with a cursor's row", of(func(ctx context.Context, k *kit, n int) error { return loopByHand(ctx, k.db, n, true) })},
				{steered, of(runPeople(0))},
			},
			goals: []goal{{loopSide, itemsPerSecond, 0.95}},
		})
	}
	return cs, nil
}

// bulkAction prepares a database with people, and returns the action to measure.
type bulkAction func(ctx context.Context, d *database, n int) (act func() error, end func() error, err error)

// bulkOn measures an action on n people.
func bulkOn(ctx context.Context, h *host, s setup, n int, action bulkAction) (got sample, err error) {
	d, err := h.databaseOf(ctx, s)
	if err != nil {
		return nil, err
	}
	err = execute(ctx, d.dsn, fmt.Sprintf(makePeople, n), "CREATE TABLE progress (done bigint)", "INSERT INTO progress VALUES (0)", "VACUUM people")
	if err != nil {
		return nil, errors.Join(err, d.drop())
	}
	act, end, err := action(ctx, d, n) // end drops the database
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := d.quiesce(ctx); err != nil {
		return nil, err
	}
	cpu, err := h.used(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := act(); err != nil {
		return nil, err
	}
	took := time.Since(began)
	got = sample{itemsPerSecond: float64(n) / took.Seconds()}
	if err := h.since(ctx, cpu, n, got, cpuPerItem, serverPerItem); err != nil {
		return nil, err
	}
	changed, err := d.one(ctx, "SELECT count(*) FROM people WHERE status = 'paused'")
	if err == nil && changed != int64(n) {
		err = fmt.Errorf("%d of %d people were changed: the figure is of no use", changed, n)
	}
	return got, err
}

// bulkTaskkit runs one task.
func bulkTaskkit(batch int) bulkAction {
	return func(ctx context.Context, d *database, n int) (func() error, func() error, error) {
		k, err := attachTaskkit(ctx, d, setup{}, false)
		if err != nil {
			return nil, nil, err
		}
		run := runPeople(batch)
		return func() error { return run(ctx, k, n) }, k.close, nil
	}
}

// runPeople submits one task for n people and works until it is done.
func runPeople(batch int) liteAction {
	return func(ctx context.Context, k *kit, n int) error {
		_, err := peopletask.Submit(ctx, k.db, people.Spec{Status: "paused", To: int64(n), Batch: batch}, taskkit.OwnedBy(taskkit.ID{1}))
		if err != nil {
			return err
		}
		return finish(ctx, k, 1)
	}
}

// finish works until n tasks are done.
func finish(ctx context.Context, p peer, n int) error {
	_, err := drained(ctx, p, n, true)
	return err
}

// bulkByHand is a loop of the same transactions without any framework, on the
// same driver. With cursor it saves its position, and could be resumed.
func bulkByHand(cursor bool) bulkAction {
	return func(ctx context.Context, d *database, n int) (func() error, func() error, error) {
		db, err := pgDB(d.sideDSN(), nil)
		if err != nil {
			return nil, nil, errors.Join(err, d.drop())
		}
		return func() error { return loopByHand(ctx, db, n, cursor) },
			func() error { return errors.Join(db.Close(), d.drop()) }, nil
	}
}

// loopByHand changes n people in batches.
func loopByHand(ctx context.Context, db *sql.DB, n int, cursor bool) error {
	batch := func(from, to int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, updatePeople, "paused", from, to); err != nil {
			return err
		}
		if cursor {
			if _, err := tx.ExecContext(ctx, "UPDATE progress SET done = $1", to); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
	for from := 0; from < n; from += batchSize {
		if err := batch(from, min(from+batchSize, n)); err != nil {
			return fmt.Errorf("update people from %d: %w", from, err)
		}
	}
	return nil
}

// bulkRiverCursor runs one job that saves a cursor in each transaction.
func bulkRiverCursor(ctx context.Context, d *database, n int) (func() error, func() error, error) {
	return bulkRiver(ctx, d, riverConfig{}, func(p *riverPeer) error {
		c, err := p.inserts()
		if err != nil {
			return err
		}
		if _, err = c.Insert(ctx, riverPeople{Status: "paused", To: int64(n), Batch: batchSize}, nil); err != nil {
			return err
		}
		return finish(ctx, p, 1)
	})
}

// bulkRiverEach runs one job for each person.
func bulkRiverEach(ctx context.Context, d *database, n int) (func() error, func() error, error) {
	return bulkRiver(ctx, d, riverTuned, func(p *riverPeer) error {
		c, err := p.inserts()
		if err != nil {
			return err
		}
		id := int64(0)
		err = pagesOf(n, func(n int) error {
			params := make([]river.InsertManyParams, n)
			for i := range params {
				id++
				params[i].Args = riverPerson{ID: id, Status: "paused"}
			}
			_, err := c.InsertManyFast(ctx, params)
			return err
		})
		if err != nil {
			return err
		}
		return finish(ctx, p, n)
	})
}

func bulkRiver(ctx context.Context, d *database, c riverConfig, act func(*riverPeer) error) (func() error, func() error, error) {
	p, err := attachRiver(ctx, d, c, setup{}, false)
	if err != nil {
		return nil, nil, err
	}
	return func() error { return act(p) }, p.close, nil
}

// liteAction is an action on n people in taskkit's database.
type liteAction func(ctx context.Context, k *kit, n int) error

// bulkOnSQLite measures an action on n people in an SQLite file.
func bulkOnSQLite(ctx context.Context, h *host, n int, act liteAction) (sample, error) {
	return with(ctx, h, openTaskkitSQLite, setup{}, func(p peer) (sample, error) {
		k, ok := p.(*kit)
		if !ok {
			return nil, fmt.Errorf("opened %T", p)
		}
		if err := makePeopleSQLite(ctx, k, n); err != nil {
			return nil, err
		}
		cpu, err := h.used(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := act(ctx, k, n); err != nil {
			return nil, err
		}
		took := time.Since(began)
		got := sample{itemsPerSecond: float64(n) / took.Seconds()}
		if err := h.since(ctx, cpu, n, got, cpuPerItem, serverPerItem); err != nil {
			return nil, err
		}
		var changed int
		if err := k.db.QueryRowContext(ctx, "SELECT count(*) FROM people WHERE status = 'paused'").Scan(&changed); err != nil || changed != n {
			return nil, fmt.Errorf("%d of %d people were changed: the figure is of no use (%w)", changed, n, err)
		}
		return got, nil
	})
}

// makePeopleSQLite makes the table and its people.
func makePeopleSQLite(ctx context.Context, k *kit, n int) error {
	for _, statement := range []string{
		"CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, status TEXT NOT NULL)",
		fmt.Sprintf("WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d)"+
			" INSERT INTO people SELECT i, 'person ' || i, 'active' FROM s", n),
		"CREATE TABLE progress (done INTEGER)",
		"INSERT INTO progress VALUES (0)",
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := k.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the people: %w", err)
		}
	}
	return nil
}
