package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverConfig is a configuration of River. The zero value is River's defaults, with the
// 100 workers of its documentation.
type riverConfig struct {
	workers        int
	cooldown, poll time.Duration
}

// riverTuned is the best configuration that was found for River's drain on two cores.
var riverTuned = riverConfig{workers: 2000, cooldown: 2 * time.Millisecond, poll: 20 * time.Millisecond}

// riverTiny is a job that does nothing.
type riverTiny struct {
	Stamp int64 `json:"t"`
}

// Kind implements [river.JobArgs].
func (riverTiny) Kind() string { return "tiny" }

type riverTinyWorker struct {
	river.WorkerDefaults[riverTiny]
	ran func(int64)
}

// Work implements [river.Worker].
func (w *riverTinyWorker) Work(_ context.Context, job *river.Job[riverTiny]) error {
	w.ran(job.Args.Stamp)
	return nil
}

// riverTouch is a job that writes a row in the transaction that completes it.
type riverTouch struct {
	Stamp int64 `json:"t"`
}

// Kind implements [river.JobArgs].
func (riverTouch) Kind() string { return "touch" }

type riverTouchWorker struct {
	river.WorkerDefaults[riverTouch]
	pool *pgxpool.Pool
	ran  func(int64)
}

// Work implements [river.Worker].
func (w *riverTouchWorker) Work(ctx context.Context, job *river.Job[riverTouch]) error {
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if _, err := tx.Exec(ctx, "INSERT INTO touched (stamp) VALUES ($1)", job.Args.Stamp); err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.ran(job.Args.Stamp)
	return nil
}

// rollback ends a transaction that may have been committed.
func rollback(ctx context.Context, tx pgx.Tx) { _ = tx.Rollback(ctx) }

// riverPeer is River under measurement.
type riverPeer struct {
	database *database
	pool     *pgxpool.Pool
	config   riverConfig
	setup    setup
	observed *observed // nil: no telemetry

	insertOnce sync.Once
	inserter   *river.Client[pgx.Tx]
	insertErr  error
}

// openRiver returns an opener of River with a configuration.
func openRiver(c riverConfig) opener {
	return func(ctx context.Context, h *host, s setup) (peer, error) {
		d, err := h.databaseOf(ctx, s)
		if err != nil {
			return nil, err
		}
		return attachRiver(ctx, d, c, s, s.template != "")
	}
}

// attachRiver opens River on a database, which close drops.
func attachRiver(ctx context.Context, d *database, c riverConfig, s setup, ready bool) (*riverPeer, error) {
	dsn := d.sideDSN()
	if s.pooler {
		var err error
		if dsn, err = d.pooled(); err != nil {
			return nil, errors.Join(err, d.drop())
		}
	}
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the benchmark's DSN: %w", err), d.drop())
	}
	pc.MaxConns = maxConns
	if s.tracer != nil {
		pc.ConnConfig.Tracer = s.tracer
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open River's pool: %w", err), d.drop())
	}
	p := &riverPeer{database: d, pool: pool, config: c, setup: s}
	if s.telemetry {
		p.observed = newObserved()
	}
	if ready {
		return p, nil
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err == nil {
		err = execute(ctx, d.dsn, touched)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("migrate River: %w", err), p.close())
	}
	return p, nil
}

// client makes a client that works, or one that only inserts.
func (p *riverPeer) client(workers *river.Workers) (*river.Client[pgx.Tx], error) {
	c := &river.Config{Logger: quiet()}
	if p.observed != nil {
		c.Middleware = p.observed.river()
	}
	if workers != nil {
		n := p.config.workers
		if n == 0 {
			n = 100
		}
		c.Workers, c.Queues = workers, map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: n}}
		c.FetchCooldown, c.FetchPollInterval, c.PollOnly = p.config.cooldown, p.config.poll, p.setup.pooler
	}
	client, err := river.NewClient(riverpgxv5.New(p.pool), c)
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return client, nil
}

// inserts returns the client that only inserts, as a service has it.
func (p *riverPeer) inserts() (*river.Client[pgx.Tx], error) {
	p.insertOnce.Do(func() { p.inserter, p.insertErr = p.client(nil) })
	return p.inserter, p.insertErr
}

// args are a job's.
func (p *riverPeer) args(stamp int64) river.JobArgs {
	if p.setup.insert {
		return riverTouch{stamp}
	}
	return riverTiny{stamp}
}

func (p *riverPeer) fill(ctx context.Context, n int) error {
	return pagesOf(n, func(n int) error { return p.submitMany(ctx, n) })
}

func (p *riverPeer) submit(ctx context.Context, stamp int64) error {
	c, err := p.inserts()
	if err != nil {
		return err
	}
	_, err = c.Insert(ctx, p.args(stamp), nil)
	return err
}

func (p *riverPeer) submitMany(ctx context.Context, n int) error {
	c, err := p.inserts()
	if err != nil {
		return err
	}
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i].Args = p.args(0)
	}
	_, err = c.InsertManyFast(ctx, params)
	return err
}

func (p *riverPeer) submitTx(ctx context.Context, stamp int64) error {
	c, err := p.inserts()
	if err != nil {
		return err
	}
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if _, err := tx.Exec(ctx, "INSERT INTO touched (stamp) VALUES ($1)", stamp); err != nil {
		return err
	}
	if _, err := c.InsertTx(ctx, tx, p.args(stamp), nil); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func (p *riverPeer) work(ctx context.Context, ran func(int64)) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverTinyWorker{ran: ran})
	river.AddWorker(workers, &riverTouchWorker{pool: p.pool, ran: ran})
	river.AddWorker(workers, &riverPersonWorker{pool: p.pool, ran: ran})
	river.AddWorker(workers, &riverPeopleWorker{pool: p.pool, ran: ran})
	return p.start(ctx, workers)
}

// start starts a client and returns how to stop it.
func (p *riverPeer) start(ctx context.Context, workers *river.Workers) (func() error, error) {
	c, err := p.client(workers)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return c.Stop(ctx)
	}, nil
}

func (p *riverPeer) done(ctx context.Context) (bool, error) {
	var left bool
	err := p.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM river_job WHERE state = 'available')"+
		" OR EXISTS (SELECT FROM river_job WHERE state = 'running')").Scan(&left)
	return !left, err
}

// databaseName names the database in the server's statistics.
func (p *riverPeer) databaseName() string { return p.database.name }

func (p *riverPeer) quiesce(ctx context.Context) error { return p.database.quiesce(ctx) }

func (p *riverPeer) close() error {
	p.pool.Close()
	if p.observed != nil {
		if err := p.observed.close(); err != nil {
			return errors.Join(err, p.database.drop())
		}
	}
	return p.database.drop()
}
