package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/taskkit"
)

const (
	connectionsMetric  = "connections"
	transactionsMetric = "transactions/min"
	statementsMetric   = "statements/min"
)

// idleTime is after how long an idle connection is closed: a tenth of what the documentation advises, so that less
// time passes until a worker has no more connections than it needs.
const idleTime = 6 * time.Second

// quietAfter is after how long connections that are not needed are closed, and idle backends have reported their statistics.
const quietAfter = idleTime + 11*time.Second

// workload is some workers, each with a pool of its own, as in processes of their own.
type workload struct {
	workers, slots int
	// working: each slot executes one batch of a second after the other, which holds its connection all the time.
	working bool
}

// connections measures what workers of several sizes need of PostgreSQL.
func connections(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	window := max(time.Duration(float64(30*time.Second)*o.scale), time.Second)
	metrics := []metric{{name: connectionsMetric, less: true}, {name: transactionsMetric, less: true, info: true}, {name: statementsMetric, less: true, info: true}}
	var all []contest
	for _, size := range []workload{{1, 1, false}, {1, 12, false}, {1, 200, false}, {12, 1, false}, {200, 1, false}} {
		c := contest{
			title:   fmt.Sprintf("%d workers of %d slots for %v, PostgreSQL; all of them together", size.workers, size.slots, window),
			metrics: metrics, rounds: 1,
		}
		working := size
		working.working = true
		c.sides = []side{
			{us, func(ctx context.Context) (sample, error) { return size.measure(ctx, h, window) }},
			{us + ", working", func(ctx context.Context) (sample, error) { return working.measure(ctx, h, window) }},
		}
		c.goals = []goal{{"", connectionsMetric, float64(2 * size.workers)}}
		all = append(all, c)
	}
	return all, nil
}

// measure starts the workers, lets each task of a first one for each slot end, and measures a window after that.
func (w workload) measure(ctx context.Context, h *host, window time.Duration) (got sample, err error) {
	opened, err := openTaskkit(ctx, h, setup{insert: true})
	if err != nil {
		return nil, err
	}
	k := opened.(*kit) //nolint:errcheck,forcetypeassert // openTaskkit opens one
	defer func() { err = errors.Join(err, k.close()) }()
	k.insert = "INSERT INTO touched (stamp) SELECT $1 FROM pg_sleep(1)"
	statements := new(statementCounter)
	var ran atomic.Int64
	stops := make([]func() error, w.workers)
	defer func() {
		var ending sync.WaitGroup
		errs := make([]error, w.workers)
		for i, stop := range stops {
			if stop != nil {
				ending.Go(func() { errs[i] = stop() })
			}
		}
		ending.Wait()
		err = errors.Join(err, errors.Join(errs...))
	}()
	for i := range stops {
		if stops[i], err = w.start(ctx, k, statements, func(int64) { ran.Add(1) }); err != nil {
			return nil, err
		}
	}
	tasks, first := w.workers*w.slots, w.workers*w.slots
	if w.working {
		tasks *= int((window + quietAfter + 15*time.Second) / time.Second)
	}
	if err := k.fill(ctx, tasks); err != nil {
		return nil, err
	}
	for ran.Load() < int64(first) {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, quietAfter); err != nil {
		return nil, err
	}
	return w.window(ctx, h, k, statements, window)
}

// start starts a worker with a pool as the documentation advises.
func (w workload) start(ctx context.Context, k *kit, statements *statementCounter, ran func(int64)) (stop func() error, err error) {
	c, err := pgx.ParseConfig(k.dsn)
	if err != nil {
		return nil, fmt.Errorf("read the benchmark's DSN: %w", err)
	}
	c.Tracer, c.RuntimeParams["application_name"] = statements, "worker"
	own := *k
	own.db = stdlib.OpenDB(*c)
	own.db.SetMaxIdleConns(w.slots + 3)
	own.db.SetConnMaxIdleTime(idleTime)
	end, err := own.serve(ctx, taskkit.Config{Logger: quiet(), Slots: w.slots, Drain: 2 * time.Second}, ran)
	if err != nil {
		return nil, errors.Join(err, own.db.Close())
	}
	return func() error { return errors.Join(end(), own.db.Close()) }, nil
}

// window counts for a while: connections at their most, and the rest for a minute.
func (w workload) window(ctx context.Context, h *host, k *kit, statements *statementCounter, window time.Duration) (sample, error) {
	server, err := sql.Open("pgx", h.postgres.DSN)
	if err != nil {
		return nil, fmt.Errorf("open the server's statistics: %w", err)
	}
	defer server.Close()
	server.SetMaxOpenConns(1)
	one := func(query string) (n int64, err error) {
		err = server.QueryRowContext(ctx, query, k.name).Scan(&n)
		return n, err
	}
	const committed = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1"
	before, err := one(committed)
	if err != nil {
		return nil, err
	}
	stated, began, most := statements.n.Load(), time.Now(), int64(0)
	for time.Since(began) < window {
		open, err := one("SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'worker'")
		if err != nil {
			return nil, err
		}
		most = max(most, open)
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	after, err := one(committed)
	minutes := time.Since(began).Minutes()
	return sample{
		connectionsMetric: float64(most), transactionsMetric: float64(after-before) / minutes,
		statementsMetric: float64(statements.n.Load()-stated) / minutes,
	}, err
}

// statementCounter counts the statements that are sent to the server.
type statementCounter struct{ n atomic.Int64 }

// TraceQueryStart and TraceQueryEnd implement [pgx.QueryTracer].
func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart, TraceBatchQuery and TraceBatchEnd implement [pgx.BatchTracer].
func (c *statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	c.n.Add(int64(data.Batch.Len()))
	return ctx
}
func (*statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
