package taskkit

import (
	"context"
	"database/sql"
	"errors"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/store"
)

// Worker is one running process of the runtime: it claims tasks of the kinds
// that it knows and runs them.
type Worker struct{ engine *engine.Worker }

// NewWorker makes a worker and checks everything that can be checked: the
// registry, the configuration, the database's settings and its schema. An SQLite
// file is migrated, a PostgreSQL schema must have been (see [Migrate]). It
// starts nothing. Errors: *[MissingExecutorError], *[DuplicateKindError],
// *[OptionError], *[ConnectError], *[SchemaError].
//
// The pool is shared with the application. A worker uses at most one connection
// for each slot and three of its own; on PostgreSQL one of them listens, on
// SQLite one is kept to write on until Run returns.
func NewWorker(db *sql.DB, r *Registry, c Config) (*Worker, error) {
	kinds, err := r.Engine()
	if err != nil {
		return nil, err
	}
	if len(kinds) == 0 {
		return nil, &OptionError{"Registry", "empty: register at least one executor"}
	}
	ec, err := c.engine()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ec.Call)
	defer cancel()
	schema := or(c.Schema, DefaultSchema)
	if err := ready(ctx, db, schema); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, db, schema, store.ListenDSN(c.ListenDSN))
	if err != nil {
		return nil, &ConnectError{err}
	}
	return &Worker{engine.New(s, kinds, ec)}, nil
}

// Run works until ctx ends. Then it claims nothing more, lets the batches in
// hand finish within Config.Drain, gives its tasks back with no attempt spent,
// and returns nil. It returns an error only when it could not begin; afterwards
// it survives whatever the database does. It may be called once.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.engine.Run(ctx); err != nil {
		if _, ok := errors.AsType[*ConnectError](err); ok {
			return err
		}
		return &ConnectError{err}
	}
	return nil
}
