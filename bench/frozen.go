package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/bench/executors/listed"
	"taskkit.dev/bench/gen/idstask"
	"taskkit.dev/bench/gen/listedtask"
	"taskkit.dev/taskkit"
)

// idsPerSecond is a metric.
const idsPerSecond = "ids/s"

// frozen is scenario 9: the costs of a frozen set of targets, of its submission and of a run
// over it.
func frozen(h *host, o options) ([]contest, error) {
	n := o.scaled(400_000, 10*batchSize) // a list in a spec has at most 4 MiB
	over := contest{
		metrics: []metric{{name: itemsPerSecond}, {name: cpuPerItem, less: true}, {name: serverPerItem, less: true}},
		goals:   []goal{{"taskkit, the list in the spec", itemsPerSecond, 0.97}},
	}
	ids := o.scaled(1_000_000, 10_000)
	submitted := contest{metrics: []metric{{name: idsPerSecond}}}
	var cs []contest
	if o.postgres {
		c := over
		c.title = fmt.Sprintf("update of %s people named one by one in batches of %d, PostgreSQL", figure(float64(n)), batchSize)
		of := func(frozen bool) func(context.Context) (sample, error) {
			return func(ctx context.Context) (sample, error) { return bulkOn(ctx, h, setup{}, n, bulkListed(frozen)) }
		}
		c.sides = []side{{us, of(true)}, {"taskkit, the list in the spec", of(false)}}
		s := submitted
		s.title = fmt.Sprintf("submit of a task over %s UUIDs, PostgreSQL", figure(float64(ids)))
		s.sides = []side{
			{us, storeIDs(h, openTaskkit, ids, submitOver)},
			{"COPY into a narrow table", storeIDs(h, openTaskkit, ids, copyIDs)},
		}
		s.goals = []goal{{"COPY into a narrow table", idsPerSecond, 0.5}}
		cs = append(cs, c, s)
	}
	if o.sqlite {
		c := over
		c.title = fmt.Sprintf("update of %s people named one by one in batches of %d, SQLite", figure(float64(n)), batchSize)
		c.metrics = c.metrics[:2]
		of := func(frozen bool) func(context.Context) (sample, error) {
			return func(ctx context.Context) (sample, error) { return bulkOnSQLite(ctx, h, n, runListed(frozen)) }
		}
		c.sides = []side{{us, of(true)}, {"taskkit, the list in the spec", of(false)}}
		s := submitted
		s.title = fmt.Sprintf("submit of a task over %s UUIDs, SQLite", figure(float64(ids)))
		s.sides = []side{
			{us, storeIDs(h, openTaskkitSQLite, ids, submitOver)},
			{"INSERT into a narrow table", storeIDs(h, openTaskkitSQLite, ids, insertIDs)},
		}
		cs = append(cs, c, s)
	}
	return cs, nil
}

// bulkListed runs one task over a list of people.
func bulkListed(frozen bool) bulkAction {
	return func(ctx context.Context, d *database, n int) (func() error, func() error, error) {
		k, err := attachTaskkit(ctx, d, setup{}, false)
		if err != nil {
			return nil, nil, err
		}
		run := runListed(frozen)
		return func() error { return run(ctx, k, n) }, k.close, nil
	}
}

// runListed submits one task for n people, as a frozen set or in its spec, and works
// until it is done.
func runListed(frozen bool) liteAction {
	return func(ctx context.Context, k *kit, n int) error {
		people := make([]int64, n)
		for i := range people {
			people[i] = int64(i) + 1
		}
		spec, opts := listed.Spec{Status: "paused"}, []taskkit.SubmitOption{taskkit.System()}
		if frozen {
			opts = append(opts, taskkit.WithTargets(slices.Values(people)))
		} else {
			spec.People = people
		}
		if _, err := listedtask.Submit(ctx, k.db, spec, opts...); err != nil {
			return err
		}
		return finish(ctx, k, 1)
	}
}

// storeIDs measures how fast ids are stored, in one transaction.
func storeIDs(h *host, open opener, n int, store func(ctx context.Context, db *sql.DB, ids []uuid.UUID) error) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, fmt.Errorf("opened %T", p)
			}
			if _, err := k.db.ExecContext(ctx, "CREATE TABLE narrow (id uuid NOT NULL)"); err != nil {
				return nil, fmt.Errorf("make the table: %w", err)
			}
			ids := make([]uuid.UUID, n)
			for i := range ids {
				ids[i] = uuid.New()
			}
			if err := k.quiesce(ctx); err != nil {
				return nil, err
			}
			began := time.Now()
			if err := store(ctx, k.db, ids); err != nil {
				return nil, err
			}
			return sample{idsPerSecond: float64(n) / time.Since(began).Seconds()}, nil
		})
	}
}

// submitOver submits a task over the ids.
func submitOver(ctx context.Context, db *sql.DB, ids []uuid.UUID) error {
	_, err := idstask.Submit(ctx, db, idstask.Spec{}, taskkit.System(), taskkit.WithTargets(slices.Values(ids)))
	return err
}

// copyIDs is the fastest way into PostgreSQL: COPY in its binary format.
func copyIDs(ctx context.Context, db *sql.DB, ids []uuid.UUID) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		pg, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the driver's connection is %T", c)
		}
		_, err := pg.Conn().CopyFrom(ctx, pgx.Identifier{"narrow"}, []string{"id"},
			pgx.CopyFromSlice(len(ids), func(i int) ([]any, error) { return []any{[16]byte(ids[i])}, nil }))
		return err
	})
}

// insertIDs inserts a thousand rows a statement.
func insertIDs(ctx context.Context, db *sql.DB, ids []uuid.UUID) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endTx(tx, err)) }()
	for page := range slices.Chunk(ids, 1000) {
		args := make([]any, len(page))
		for i, id := range page {
			args[i] = id.String()
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO narrow VALUES "+strings.Repeat("(?), ", len(page)-1)+"(?)", args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// endTx commits, or rolls back after an error.
func endTx(tx *sql.Tx, err error) error {
	if err != nil {
		return tx.Rollback()
	}
	return tx.Commit()
}
