package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlscan"
)

const (
	// commitWithin bounds a COMMIT, whose context is nobody's but its own: the
	// batch's may end while the answer is on its way.
	commitWithin = 15 * time.Second
)

// batchTx is a batch's transaction.
type batchTx struct {
	store *Store
	tx    *sql.Tx
	// end ends the context that the driver's COMMIT and ROLLBACK run under.
	end  context.CancelFunc
	over bool
}

// Begin implements [store.Store]. The limits are the server's, so that a worker that
// is stopped or cut off loses its locks; they end with the transaction, as
// nothing may stay behind on a connection that goes through a pooler.
func (s *Store) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	began := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-began:
		default:
			end() // still waiting for a connection
		}
	})
	tx, err := s.db.BeginTx(own, nil)
	close(began)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	b := &batchTx{store: s, tx: tx, end: end}
	n, err := rowsAffected(tx.ExecContext(ctx, s.Fixed(`WITH limits AS MATERIALIZED (
  SELECT set_config('idle_in_transaction_session_timeout', $4, true),
    set_config('statement_timeout', $5, true), set_config('lock_timeout', $6, true)
)
SELECT 1 FROM limits, {s}taskkit_queued_task q
WHERE q.id = $1 AND q.fence = $2 AND q.checkpoint_seq = $3 AND q.workflow_status`+sqlbase.AsExpression+` IN ('SCHEDULING', 'EXECUTING')
FOR KEY SHARE OF q`), h.ID.String(), h.Fence, h.Seq, setting(l.Idle), setting(l.Statement), setting(l.Lock)))
	if err == nil && n == 0 {
		err = store.ErrLost
	}
	if err != nil {
		b.Rollback()
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	return b, nil
}

// rowsAffected is how many rows a statement has changed or, without reading them,
// found.
func rowsAffected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
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
	return t.tx, nil
}

// ExecContext implements [store.Querier].
func (t *batchTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return nil, err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext implements [store.Querier].
func (t *batchTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return nil, err
	}
	return t.tx.QueryContext(ctx, query, args...)
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

// Commit implements [store.Tx].
func (t *batchTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	if t.over {
		return store.Applied{}, sql.ErrTxDone
	}
	applied, err := t.store.apply(ctx, t.tx, []*store.Write{&w})
	if err != nil {
		t.Rollback()
		return store.Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	if !applied[0].OK {
		t.Rollback()
		return applied[0], nil
	}
	t.over = true
	deadline := time.AfterFunc(commitWithin, t.end)
	err = t.tx.Commit()
	deadline.Stop()
	t.end()
	if err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	return applied[0], nil
}

// Rollback implements [store.Tx].
func (t *batchTx) Rollback() {
	if t.over {
		return
	}
	t.over = true
	deadline := time.AfterFunc(sqlbase.RollbackWithin, t.end)
	_ = t.tx.Rollback()
	deadline.Stop()
	t.end()
}
