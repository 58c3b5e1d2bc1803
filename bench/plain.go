package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// plainPeer is a queue of two statements written by hand on a minimal table: an id, a
// status, a payload, and an index of the waiting tasks. It has no failures, kinds,
// takeovers or times. It shows the limit of a queue with two durable updates for a task
// on this database.
type plainPeer struct {
	db      *sql.DB
	sqlite  bool
	insert  bool
	loops   int // claimers, each with a connection
	atOnce  int // tasks a claim
	rest    func(ctx context.Context) error
	destroy func() error
}

// openPlain opens the queue by hand on PostgreSQL.
func openPlain(ctx context.Context, h *host, s setup) (peer, error) {
	if s.pooler || s.template != "" {
		return nil, errNotOffered
	}
	d, err := h.databaseOf(ctx, s)
	if err != nil {
		return nil, err
	}
	db, err := pgDB(d.sideDSN(), s.tracer)
	if err != nil {
		return nil, errors.Join(err, d.drop())
	}
	p := &plainPeer{
		db: db, insert: s.insert, loops: 2, atOnce: pageSize, rest: d.quiesce,
		destroy: func() error { return errors.Join(db.Close(), d.drop()) },
	}
	if s.insert {
		p.loops, p.atOnce = 10, 100 // as many transactions at once as taskkit's slots
	}
	err = execute(ctx, d.dsn, touched,
		"CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status smallint NOT NULL DEFAULT 0, stamp bigint NOT NULL)",
		"CREATE INDEX plain_waiting ON plain (id) WHERE status = 0",
		"CREATE INDEX plain_running ON plain (id) WHERE status = 1")
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// openPlainSQLite opens the queue by hand on an SQLite file. One loop: SQLite
// has one writer.
func openPlainSQLite(ctx context.Context, h *host, s setup) (peer, error) {
	db, path, err := h.sqlite()
	if err != nil {
		return nil, err
	}
	p := &plainPeer{
		db: db, sqlite: true, insert: s.insert, loops: 1, atOnce: pageSize,
		rest:    func(context.Context) error { return nil },
		destroy: func() error { return removeSQLite(db, path) },
	}
	for _, statement := range []string{
		"CREATE TABLE touched (id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL)",
		"CREATE TABLE plain (id INTEGER PRIMARY KEY, status INTEGER NOT NULL DEFAULT 0, stamp INTEGER NOT NULL)",
		"CREATE INDEX plain_waiting ON plain (id) WHERE status = 0",
		"CREATE INDEX plain_running ON plain (id) WHERE status = 1",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("make the table by hand: %w", err), p.close())
		}
	}
	return p, nil
}

func (p *plainPeer) fill(ctx context.Context, n int) error {
	return pagesOf(n, func(n int) error { return p.submitMany(ctx, n) })
}

func (p *plainPeer) submit(ctx context.Context, stamp int64) error {
	_, err := p.db.ExecContext(ctx, "INSERT INTO plain (stamp) VALUES ($1)", stamp)
	return err
}

func (p *plainPeer) submitMany(ctx context.Context, n int) error {
	if p.sqlite {
		_, err := p.db.ExecContext(ctx, "INSERT INTO plain (stamp) VALUES (0)"+strings.Repeat(", (0)", n-1))
		return err
	}
	_, err := p.db.ExecContext(ctx, "INSERT INTO plain (stamp) SELECT unnest($1::bigint[])", make([]int64, n))
	return err
}

func (p *plainPeer) submitTx(ctx context.Context, stamp int64) error {
	return p.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO touched (stamp) VALUES ($1)", stamp); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO plain (stamp) VALUES ($1)", stamp)
		return err
	})
}

func (p *plainPeer) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (p *plainPeer) work(ctx context.Context, ran func(int64)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	errs := make([]error, p.loops)
	for i := range p.loops {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				var n int
				if n, errs[i] = p.round(ctx, ran); n == 0 {
					break // empty: this queue is for draining only
				}
			}
			if ctx.Err() != nil {
				errs[i] = nil
			}
		})
	}
	return func() error {
		cancel()
		wg.Wait()
		return errors.Join(errs...)
	}, nil
}

// round claims tasks, runs them and completes them.
func (p *plainPeer) round(ctx context.Context, ran func(int64)) (int, error) {
	if p.sqlite {
		return p.roundSQLite(ctx, ran)
	}
	rows, err := p.db.QueryContext(ctx, `UPDATE plain SET status = 1 WHERE id = ANY (ARRAY(
  SELECT id FROM plain WHERE status = 0 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING id, stamp`, p.atOnce)
	if err != nil {
		return 0, err
	}
	ids, err := p.run(rows, ran)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if p.insert {
		return len(ids), p.each(ctx, ids, "UPDATE plain SET status = 2 WHERE id = $1")
	}
	_, err = p.db.ExecContext(ctx, "UPDATE plain SET status = 2 WHERE id = ANY ($1)", ids)
	return len(ids), err
}

// roundSQLite claims in one transaction and completes in another.
func (p *plainPeer) roundSQLite(ctx context.Context, ran func(int64)) (int, error) {
	var ids []int64
	err := p.inTx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `UPDATE plain SET status = 1 WHERE id IN (
  SELECT id FROM plain WHERE status = 0 ORDER BY id LIMIT $1) RETURNING id, stamp`, p.atOnce)
		if err != nil {
			return err
		}
		ids, err = p.run(rows, ran)
		return err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	const complete = "UPDATE plain SET status = 2 WHERE id = $1"
	if p.insert {
		return len(ids), p.each(ctx, ids, complete)
	}
	return len(ids), p.inTx(ctx, func(tx *sql.Tx) error {
		done, err := tx.PrepareContext(ctx, complete)
		if err != nil {
			return err
		}
		defer done.Close()
		for _, id := range ids {
			if _, err := done.ExecContext(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// each completes tasks in a transaction each, beside a row that they write.
func (p *plainPeer) each(ctx context.Context, ids []int64, complete string) error {
	for _, id := range ids {
		err := p.inTx(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO touched (stamp) VALUES (0)"); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, complete, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run reads the claimed tasks.
func (p *plainPeer) run(rows *sql.Rows, ran func(int64)) ([]int64, error) {
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id, stamp int64
		if err := rows.Scan(&id, &stamp); err != nil {
			return nil, err
		}
		ids = append(ids, id)
		ran(stamp)
	}
	return ids, rows.Err()
}

func (p *plainPeer) done(ctx context.Context) (bool, error) {
	var left bool
	err := p.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM plain WHERE status = 0) OR EXISTS (SELECT 1 FROM plain WHERE status = 1)").Scan(&left)
	return !left, err
}

func (p *plainPeer) quiesce(ctx context.Context) error { return p.rest(ctx) }

func (p *plainPeer) close() error { return p.destroy() }
