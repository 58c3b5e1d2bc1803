package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/store/sqlscan"
)

// batchTx is a batch's transaction. While it is open there is no other writer, so
// no row needs a lock. The timeouts of a server have no counterpart: the context
// ends a batch that takes too long.
//
// SQLite rolls a transaction back by itself when a write is interrupted, for
// example by the end of its context, or when the disk is full. Later statements
// of an executor would then be committed at once, each by itself. So after an
// event that may have rolled back, the next statement first checks whether the
// transaction is still open.
//
// The connection is not in a transaction of database/sql. A statement of an
// abandoned executor could therefore run just after the ROLLBACK and be committed by
// itself. To prevent this, each statement holds mu, and so does the end.
type batchTx struct {
	store *Store
	w     *writing
	// own ends with the transaction; a statement that is in the way of the
	// end is interrupted through it.
	own context.Context //nolint:containedctx // it is the transaction's life, and no call's
	end context.CancelFunc

	mu sync.Mutex
	// uncertain: a statement may have ended the transaction.
	uncertain bool
	gone      bool
	over      bool
}

// errGone is a transaction that SQLite has given up.
var errGone = errors.New("SQLite has rolled the transaction back after an earlier error")

// Begin implements [store.Sessions].
func (s *Store) Begin(ctx context.Context, h store.Lease, _ store.TxTimeouts) (store.Tx, error) {
	w, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, classify.OfRuntime(err))
	}
	n, err := sqlrows.Query(context.WithoutCancel(ctx), w, `SELECT 1 FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')`,
		[]any{h.ID.String(), h.Fence, h.Seq}, func(*sql.Rows) error { return nil })
	if err == nil && n == 0 {
		err = store.ErrLost
	}
	if err != nil {
		w.rollback()
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, classify.OfRuntime(err))
	}
	t := &batchTx{store: s, w: w}
	t.own, t.end = context.WithCancel(context.WithoutCancel(ctx))
	return t, nil
}

// Dialect returns ent's name of the database.
func (t *batchTx) Dialect() string { return string(t.store.Dialect()) }

// Handle implements [store.Tx]. It returns t, since a *sql.Conn would outlive the
// transaction.
func (t *batchTx) Handle(query string) (store.Querier, error) {
	return t, sqlscan.RejectTxControl(t.store.Dialect(), query)
}

// ExecContext implements [store.Querier].
func (t *batchTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(query); err != nil {
		return nil, err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	var on store.Execer = t.w.conn
	if len(query) <= maxCachedLength && sqlscan.IsRepeatable(t.store.Dialect(), query) {
		on = t.w
	}
	r, err := on.ExecContext(ctx, query, args...)
	t.uncertain = t.uncertain || err != nil
	return r, err
}

// QueryContext implements [store.Querier]. Its statements are not kept: two may be open
// at once that have the same text.
func (t *batchTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(query); err != nil {
		return nil, err
	}
	ctx, cancel := t.bounded(ctx)
	t.w.cancels = append(t.w.cancels, cancel)
	rows, err := t.w.conn.QueryContext(ctx, query, args...) //nolint:sqlclosecheck // its caller closes them, or the end does
	if !sqlscan.IsSelect(t.store.Dialect(), query) || err != nil {
		t.uncertain = true // it may write, and may be interrupted while it is read
	}
	return rows, err
}

// bounded returns a statement's context: the caller's, which ends also when the
// end of the transaction has to wait for the statement.
func (t *batchTx) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.own, cancel)
	return ctx, func() { stop(); cancel() }
}

// lockForEnd takes mu for the end of the transaction. A statement that is still
// running is interrupted, at once or when ctx ends.
func (t *batchTx) lockForEnd(ctx context.Context) {
	if t.mu.TryLock() {
		return
	}
	stop := context.AfterFunc(ctx, t.end)
	t.mu.Lock()
	stop()
}

// ready refuses a statement that cannot take part in the transaction.
func (t *batchTx) ready(query string) error {
	if t.over {
		return sql.ErrTxDone
	}
	if err := sqlscan.RejectTxControl(t.store.Dialect(), query); err != nil {
		return err
	}
	return t.verifyOpen()
}

// verifyOpen returns an error when the transaction no longer exists. It tries to
// begin another, which SQLite refuses inside a transaction.
func (t *batchTx) verifyOpen() error {
	if t.gone {
		return errGone
	}
	if !t.uncertain {
		return nil
	}
	t.uncertain = false
	ctx, cancel := context.WithTimeout(context.Background(), sqlbase.RollbackWithin)
	defer cancel()
	if _, err := t.w.conn.ExecContext(ctx, "BEGIN"); err == nil {
		t.gone = true // rollback ends what was begun here
		return errGone
	}
	return nil
}

// Insert implements [store.Tx].
func (t *batchTx) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	return store.Insert(ctx, t, "", tasks, notify)
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

// RenewSavepoint implements [store.Tx].
func (t *batchTx) RenewSavepoint(ctx context.Context, name string) error {
	if err := t.ReleaseSavepoint(ctx, name); err != nil {
		return err
	}
	return t.Savepoint(ctx, name)
}

// Commit implements [store.Tx].
func (t *batchTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	t.lockForEnd(ctx)
	defer t.mu.Unlock()
	if t.over {
		return store.Applied{}, sql.ErrTxDone
	}
	defer t.end()
	t.over = true
	a, err := t.finish(ctx, w)
	if err != nil {
		t.w.rollback()
		if classify.Classify(ctx, err).Class == lifecycle.Refused {
			err = classify.OfRuntime(err) // no executor can change what tables a statement finds
		}
		return store.Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	if !a.OK {
		t.w.rollback()
		return a, nil
	}
	if err := t.w.commit(ctx); err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	return a, nil
}

// finish makes the last write inside the transaction.
func (t *batchTx) finish(ctx context.Context, w store.Write) (store.Applied, error) {
	if err := t.verifyOpen(); err != nil {
		return store.Applied{}, err
	}
	if w.Renew {
		if _, err := t.w.ExecContext(ctx, t.store.SQL(`UPDATE taskkit_task_process SET last_heartbeat_date = {now}
WHERE ended_date IS NULL AND id = (SELECT scheduled_by_process FROM taskkit_queued_task WHERE id = $1)`), w.ID.String()); err != nil {
			return store.Applied{}, err
		}
	}
	applied, err := t.store.apply(ctx, t.w, []*store.Write{&w})
	if err != nil {
		return store.Applied{}, err
	}
	applied[0].Renewed = w.Renew
	return applied[0], nil
}

// Rollback implements [store.Tx].
func (t *batchTx) Rollback() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	t.lockForEnd(ended)
	defer t.mu.Unlock()
	if t.over {
		return
	}
	defer t.end()
	t.over = true
	t.w.rollback()
}
