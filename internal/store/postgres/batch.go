package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlscan"
)

// commitWithin bounds a COMMIT, whose context is nobody's but its own: the
// batch's may end while the answer is on its way.
const commitWithin = 15 * time.Second

// batchTx is a batch's transaction.
type batchTx struct {
	store *Store
	tx    *sql.Tx
	conn  *batchConn
	pool  *sql.DB // has the one connection
	// end ends the context that COMMIT and ROLLBACK run under.
	end  context.CancelFunc
	over bool
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

// Begin implements [store.Store]. BEGIN and the lock are sent with the first statement of the transaction, in one round trip: that the
// task lease is lost is the error of this statement.
func (s *Store) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	c := &batchConn{pool: s.sender, task: h.ID, first: s.beginning(h, l)}
	if err := c.use(conn); err != nil {
		sqlbase.Discard(conn)
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	c.endWith(own)
	b := &batchTx{store: s, conn: c, pool: sql.OpenDB(c), end: end}
	if b.tx, err = b.pool.BeginTx(own, nil); err != nil {
		sqlbase.Discard(c.conn)
		b.close()
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	return b, nil
}

// beginning are BEGIN and the lock.
func (s *Store) beginning(h store.Lease, l store.TxTimeouts) []sqlbase.Step {
	return []sqlbase.Step{{Text: "BEGIN"}, {
		Text: s.Fixed(holdQuery),
		Args: []any{h.ID.String(), h.Fence, h.Seq, setting(l.Idle), setting(l.Statement), setting(l.Lock)},
	}}
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

// Commit implements [store.Tx]. The last write is sent together with COMMIT, if it can be.
func (t *batchTx) Commit(ctx context.Context, w store.Write) (applied store.Applied, err error) {
	if t.over {
		return store.Applied{}, sql.ErrTxDone
	}
	if ready, err := t.prepareLast(ctx, &w, &applied); !ready {
		t.Rollback()
		return applied, err
	}
	t.over = true
	deadline := time.AfterFunc(commitWithin, t.end)
	err = t.tx.Commit()
	deadline.Stop()
	t.close()
	if err != nil {
		return store.Applied{}, t.commitError(w.ID, err)
	}
	applied.OK = true
	return applied, nil
}

// prepareLast prepares the last write for the commit, or makes it when that takes several steps. It reports whether to commit.
// The outcome is in applied, but for what the commit finds.
func (t *batchTx) prepareLast(ctx context.Context, w *store.Write, applied *store.Applied) (ready bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, lastWriteFailed(w.ID, err)
	}
	t.conn.last, err = t.store.lastStatements(ctx, w, &applied.Control)
	if err != nil || len(t.conn.last) > 0 {
		return err == nil, err
	}
	all, err := t.store.apply(ctx, t.tx, []*store.Write{w})
	if errors.Is(err, store.ErrLost) {
		return false, nil
	}
	if err != nil {
		return false, lastWriteFailed(w.ID, err)
	}
	*applied = all[0]
	// In a transaction in which a statement has failed meanwhile, PostgreSQL answers COMMIT with ROLLBACK and no error.
	t.conn.last = []sqlbase.Step{{Text: "SELECT 1"}}
	return applied.OK, nil
}

// commitError is the error of a commit that has failed; nil: the task lease is lost.
func (t *batchTx) commitError(task uuid.UUID, err error) error {
	switch {
	case errors.Is(err, store.ErrLost):
		return nil
	case t.conn.failed != nil: // it never began
		return err
	case !t.conn.refusedLast(err):
		return &store.UnknownError{Err: err}
	case sqlState(err) == leaseLost:
		return nil
	}
	return lastWriteFailed(task, err)
}

// lastWriteFailed is the error of a last write, which was not committed.
func lastWriteFailed(task uuid.UUID, err error) error {
	return fmt.Errorf("write the end of a batch of task %s: %w", task, err)
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
	t.close()
}

// close gives the connection back.
func (t *batchTx) close() {
	t.end()
	_ = t.pool.Close()
}
