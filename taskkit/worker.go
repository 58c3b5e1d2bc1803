package taskkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
)

// Worker claims tasks of the kinds that it knows and runs them.
type Worker struct{ engine *engine.Worker }

// NewWorker returns a worker. It checks the registry, the configuration, the
// database's settings and its schema, and starts no goroutine. ctx bounds these checks,
// and so does Config.CallTimeout; [Worker.Run] has a context of its own.
//
// An SQLite file whose tables are missing or older is migrated, as [Migrate] does;
// to decide about that yourself, call [CheckSchema] before. A PostgreSQL schema must
// have been migrated before.
//
// The mistakes in the registry and the configuration are returned all at once,
// joined: *[UsageError] and *[OptionError]. If there
// are none it may return a *[ConnectError], a *[SchemaError] or a *[RefusedError].
//
// The pool is shared with the application. A worker uses one connection for each slot and
// three more. On PostgreSQL one of the three listens for notifications. On SQLite one is
// reserved for writing until Run returns.
func NewWorker(ctx context.Context, db *sql.DB, r *Registry, c Config) (*Worker, error) {
	if err := checkHandle("db", db); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, &OptionError{"Registry", "nil: fill one with gen.Executors or Register"}
	}
	ec := c.engine()
	ctx, cancel := context.WithTimeout(ctx, ec.Call)
	defer cancel()
	errs := append(throttledAliases(c.Throttle, r.kinds), r.check(), c.checkOn(ctx, db, ec))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	schema := or(c.Schema, DefaultSchema)
	if err := ready(ctx, db, schema); err != nil {
		return nil, err
	}
	s, err := dbstore.Open(ctx, db, schema, dbstore.Options{ListenDSN: c.ListenDSN})
	if err != nil {
		return nil, &ConnectError{err}
	}
	if err := probed(ctx, s); err != nil {
		return nil, err
	}
	names := make(map[string]string, len(r.kinds))
	for stored, k := range r.kinds {
		names[stored] = k.Name
	}
	ec.Retention, ec.Idle = c.retention(names)
	return &Worker{engine.New(s, r.kinds, ec)}, nil
}

// probed returns why a worker cannot use the database, or nil.
func probed(ctx context.Context, s store.Runtime) error {
	defer s.Release(ctx)
	err := s.Probe(ctx, false)
	if refused, ok := errors.AsType[*store.RefusedError](err); ok {
		return &RefusedError{refused.Problem, refused.Remedy}
	}
	if err != nil {
		return &ConnectError{err}
	}
	return nil
}

// Run claims and runs tasks until ctx ends. Then it claims no more, lets current
// batches finish within Config.Drain, releases its tasks without spending an
// attempt, and returns nil. It returns an error only when it cannot start; after
// that it survives failures of the database. It may be called once.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.engine.Run(ctx); err != nil {
		if _, ok := errors.AsType[*ConnectError](err); ok {
			return err
		}
		return &ConnectError{err}
	}
	return nil
}

// Ready returns nil while the worker would claim a task: Run has registered it, it renews its heartbeat, it listens or polls for
// tasks, and it is not shutting down. How many tasks wait is no reason, nor that all slots are busy. It reads memory only, and may be called
// at any time, also before Run and after it. Package taskhealth serves it for the probes of a container.
func (w *Worker) Ready() error {
	if err := w.engine.Ready(); err != nil {
		return fmt.Errorf("taskkit: the worker is not ready: %w", err)
	}
	return nil
}
