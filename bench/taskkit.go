package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/bench/executors/ids"
	"taskkit.dev/bench/executors/listed"
	"taskkit.dev/bench/executors/parts"
	"taskkit.dev/bench/executors/people"
	"taskkit.dev/bench/executors/piece"
	"taskkit.dev/bench/executors/rows"
	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/executors/touch"
	"taskkit.dev/bench/gen"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/bench/gen/touchtask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskotel"
)

// maxConns bounds every pool of every side alike.
const maxConns = 16

// touched is the table to which tasks with an insert write.
const touched = "CREATE TABLE touched (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stamp bigint NOT NULL)"

// pgDB opens a pool of database/sql on a database.
func pgDB(dsn string, t *tracer) (*sql.DB, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the benchmark's DSN: %w", err)
	}
	if t != nil {
		c.Tracer = t
	}
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	return db, nil
}

// kit measures taskkit with its default Config.
type kit struct {
	db     *sql.DB
	name   string                // of the database
	dsn    string                // "" for SQLite
	source string                // the DSN of both
	insert string                // the statement of tasks that write, or ""
	rows   func(rows int) string // the statement that inserts rows
	left   string                // the query whether a task waits or runs
	rest   func(ctx context.Context) error
	drop   func() error

	telemetry *taskotel.Telemetry // nil: none
}

// openTaskkit opens taskkit on PostgreSQL.
func openTaskkit(ctx context.Context, h *host, s setup) (peer, error) {
	d, err := h.databaseOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return attachTaskkit(ctx, d, s, s.template != "")
}

// attachTaskkit opens taskkit on a database, which close drops.
func attachTaskkit(ctx context.Context, d *database, s setup, ready bool) (*kit, error) {
	dsn := d.sideDSN()
	if s.pooler {
		var err error
		if dsn, err = d.pooled(); err != nil {
			return nil, errors.Join(err, d.drop())
		}
	}
	db, err := pgDB(dsn, s.tracer)
	if err != nil {
		return nil, errors.Join(err, d.drop())
	}
	k := &kit{
		db: db, name: d.name, dsn: d.dsn, source: dsn, rest: d.quiesce, rows: insertRows(true),
		drop: func() error { return errors.Join(db.Close(), d.drop()) },
		left: "SELECT EXISTS (SELECT FROM taskkit.taskkit_queued_task WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE')" +
			" OR EXISTS (SELECT FROM taskkit.taskkit_queued_task WHERE workflow_status IN ('SCHEDULING', 'EXECUTING'))",
	}
	if s.insert {
		k.insert = "INSERT INTO touched (stamp) VALUES ($1)"
	}
	if s.telemetry {
		if err := k.observe(); err != nil {
			return nil, errors.Join(err, k.close())
		}
	}
	if ready {
		return k, nil
	}
	if err := errors.Join(taskkit.Migrate(ctx, db, ""), execute(ctx, d.dsn, touched)); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// openTaskkitSQLite opens taskkit on an SQLite file.
func openTaskkitSQLite(ctx context.Context, h *host, s setup) (peer, error) {
	db, path, err := h.sqlite()
	if err != nil {
		return nil, err
	}
	k := &kit{
		db: db, source: sqliteDSN(path),
		rows: insertRows(false),
		rest: func(context.Context) error { return nil },
		drop: func() error { return removeSQLite(db, path) },
		left: "SELECT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))",
	}
	if s.insert {
		k.insert = "INSERT INTO touched (stamp) VALUES (?)"
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE touched (id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL)")
	if err := errors.Join(err, taskkit.Migrate(ctx, db, "")); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// sql names the tables of taskkit in the text of a statement.
func (k *kit) sql(query string) string {
	schema := ""
	if k.name != "" {
		schema = "taskkit."
	}
	return strings.ReplaceAll(query, "{s}", schema)
}

func (k *kit) fill(ctx context.Context, n int) error {
	return pagesOf(n, func(n int) error { return k.submitMany(ctx, n) })
}

func (k *kit) submit(ctx context.Context, stamp int64) error { return k.submitTo(ctx, k.db, stamp) }

func (k *kit) submitTo(ctx context.Context, tx taskkit.Execer, stamp int64) error {
	if k.insert != "" {
		_, err := touchtask.Submit(ctx, tx, touchtask.Spec{Stamp: stamp}, k.submitOptions()...)
		return err
	}
	_, err := tinytask.Submit(ctx, tx, tinytask.Spec{Stamp: stamp}, k.submitOptions()...)
	return err
}

func (k *kit) submitMany(ctx context.Context, n int) error {
	var err error
	if k.insert != "" {
		_, err = touchtask.SubmitMany(ctx, k.db, make([]touchtask.Spec, n), k.submitOptions()...)
	} else {
		_, err = tinytask.SubmitMany(ctx, k.db, make([]tinytask.Spec, n), k.submitOptions()...)
	}
	return err
}

func (k *kit) submitTx(ctx context.Context, stamp int64) error {
	tx, err := k.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin the caller's transaction: %w", err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO touched (stamp) VALUES ($1)", stamp); err != nil {
		return fmt.Errorf("write the caller's row: %w", err)
	}
	if err := k.submitTo(ctx, tx, stamp); err != nil {
		return err
	}
	return tx.Commit()
}

func (k *kit) work(ctx context.Context, ran func(int64)) (func() error, error) {
	return k.serve(ctx, taskkit.Config{Logger: quiet()}, ran)
}

// serve starts a worker of a configuration, as work does.
func (k *kit) serve(ctx context.Context, c taskkit.Config, ran func(int64)) (func() error, error) {
	var r taskkit.Registry
	gen.Executors{
		Ids:    &ids.Executor{},
		Parts:  &parts.Executor{},
		Piece:  &piece.Executor{},
		Listed: &listed.Executor{Update: updatePeople, Ended: ran},
		People: &people.Executor{Update: updatePeople, Ended: ran},
		Rows:   &rows.Executor{Insert: k.rows, Ended: ran},
		Tiny:   &tiny.Executor{Ran: ran},
		Touch:  &touch.Executor{Insert: k.insert, Ran: ran},
	}.Register(&r)
	return k.start(ctx, c, &r)
}

// start starts a worker for what is registered.
func (k *kit) start(ctx context.Context, c taskkit.Config, r *taskkit.Registry) (func() error, error) {
	if k.telemetry != nil {
		c.Observer = k.telemetry
	}
	w, err := taskkit.NewWorker(ctx, k.db, r, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

func (k *kit) done(ctx context.Context) (bool, error) {
	var left bool
	err := k.db.QueryRowContext(ctx, k.left).Scan(&left)
	return !left, err
}

// databaseName names the database in the server's statistics.
func (k *kit) databaseName() string { return k.name }

func (k *kit) quiesce(ctx context.Context) error { return k.rest(ctx) }

func (k *kit) close() error { return k.drop() }

// quiet discards the log, so that no terminal is measured.
func quiet() *slog.Logger {
	return slog.New(slog.DiscardHandler)
}
