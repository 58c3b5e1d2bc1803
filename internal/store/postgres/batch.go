package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/pgtx"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlscan"
)

// batchTx is a batch's transaction.
type batchTx struct {
	*pgtx.Tx
	store *Store
}

// holdQuery locks the row of a task against takeover, or raises an error if the task lease is lost, so that nothing that
// is sent together with it is executed. The limits are the server's, so that a worker that
// is stopped or cut off loses its locks; they end with the transaction, as
// nothing may stay behind on a connection that goes through a pooler.
const holdQuery = `WITH limits AS MATERIALIZED (
  SELECT set_config('idle_in_transaction_session_timeout', $4, true),
    set_config('statement_timeout', $5, true), set_config('lock_timeout', $6, true)
)
SELECT coalesce((SELECT '' FROM limits, {s}taskkit_queued_task q
WHERE q.id = $1 AND q.fence = $2 AND q.checkpoint_seq = $3 AND q.workflow_status` + sqlbase.AsExpression + ` IN ('SCHEDULING', 'EXECUTING')
FOR KEY SHARE OF q), {s}taskkit_unapplied($1, $2, $3, false))`

// Begin implements [store.Sessions]. The lock is sent with the first statement of the transaction, which returns the error that
// the task lease is lost.
func (s *Store) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.pool.Begin(ctx, func(err error) error {
		switch {
		case pgtx.SQLState(err) == leaseLost:
			err = store.ErrLost
		case classify.Unconnected(err) || !classify.LostConnection(err):
			// The connection may be lost because of the executor's first statement, which was sent too.
			err = classify.OfRuntime(err)
		}
		return fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}, sqlbase.Step{
		Text: s.Fixed(holdQuery),
		Args: []any{h.ID.String(), h.Fence, h.Seq, setting(l.Idle), setting(l.Statement), setting(l.Lock)},
	})
	if err != nil {
		return nil, err
	}
	return &batchTx{tx, s}, nil
}

// setting is a limit as PostgreSQL takes it; "0" is none.
func setting(d time.Duration) string { return strconv.FormatInt(sqlbase.Millis(d), 10) }

// Dialect returns ent's name of the database.
func (t *batchTx) Dialect() string { return string(t.store.Dialect()) }

// Handle implements [store.Tx].
func (t *batchTx) Handle(query string) (store.Querier, error) {
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return nil, err
	}
	return t.Tx.Tx, nil
}

// ExecContext implements [store.Querier].
func (t *batchTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return nil, err
	}
	return t.Tx.ExecContext(ctx, query, args...)
}

// QueryContext implements [store.Querier].
func (t *batchTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return nil, err
	}
	return t.Tx.QueryContext(ctx, query, args...)
}

// Insert implements [store.Tx].
func (t *batchTx) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	return store.Insert(ctx, t, t.store.Schema(), tasks, notify)
}

// Savepoint implements [store.Tx].
func (t *batchTx) Savepoint(ctx context.Context, name string) error {
	return sqlbase.Savepoint(ctx, t, name)
}

// RollbackTo implements [store.Tx].
func (t *batchTx) RollbackTo(ctx context.Context, name string) error {
	return sqlbase.RollbackTo(ctx, t, name)
}

// ReleaseSavepoint implements [store.Tx].
func (t *batchTx) ReleaseSavepoint(ctx context.Context, name string) error {
	return sqlbase.ReleaseSavepoint(ctx, t, name)
}

// RenewSavepoint implements [store.Tx]. The two statements are one text, which has no parameters
// and so is sent as it is.
func (t *batchTx) RenewSavepoint(ctx context.Context, name string) error {
	_, err := t.Tx.ExecContext(ctx, "RELEASE SAVEPOINT "+name+"; SAVEPOINT "+name)
	return err
}

// Commit implements [store.Tx]. The last write is sent together with COMMIT, if it can be.
func (t *batchTx) Commit(ctx context.Context, w store.Write) (applied store.Applied, err error) {
	last, err := t.prepareLast(ctx, &w, &applied)
	if err != nil || len(last) == 0 {
		t.Rollback()
		return applied, err
	}
	switch err := t.Tx.Commit(last...); {
	case err == nil:
		applied.OK = true
		return applied, nil
	case store.Unknown(err), errors.Is(err, sql.ErrTxDone):
		return store.Applied{}, err
	case pgtx.SQLState(err) == leaseLost, errors.Is(err, store.ErrLost):
		return store.Applied{}, nil
	default:
		return store.Applied{}, lastWriteFailed(w.ID, err)
	}
}

// prepareLast returns the statements to send with COMMIT. When the last write takes several steps it is made here. None: the
// batch is not to be committed. What the last write has found by then is in applied.
func (t *batchTx) prepareLast(ctx context.Context, w *store.Write, applied *store.Applied) ([]sqlbase.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, lastWriteFailed(w.ID, err)
	}
	last, err := t.store.lastStatements(ctx, w, &applied.Control)
	if err != nil || len(last) > 0 {
		return last, err
	}
	all, err := t.store.apply(ctx, t.Tx, []*store.Write{w})
	if errors.Is(err, store.ErrLost) {
		return nil, nil
	}
	if err != nil {
		return nil, lastWriteFailed(w.ID, err)
	}
	if *applied = all[0]; !applied.OK {
		return nil, nil
	}
	// In a transaction in which a statement has failed meanwhile, PostgreSQL answers COMMIT with ROLLBACK and no error.
	return []sqlbase.Step{{Text: "SELECT 1"}}, nil
}

// lastWriteFailed is the error of a last write, which was not committed.
func lastWriteFailed(task uuid.UUID, err error) error {
	return fmt.Errorf("write the end of a batch of task %s: %w", task, err)
}
