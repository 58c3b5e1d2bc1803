package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// sqliteTx is a batch's transaction. While it is open nobody else writes, so
// there is no row to lock, and the server's limits have no counterpart: a batch
// that does not end is ended by its context.
//
// SQLite gives a transaction up by itself when a write is interrupted, as by a
// context that ends, or when the disk is full. What an executor wrote after
// that would be committed at once, each statement by itself. So after whatever
// may have done that, the next statement first asks whether the transaction is
// still there.
//
// The connection has no transaction of database/sql's around it, so nothing else
// keeps a statement of an executor that was left behind from running just after
// the ROLLBACK, where it would be committed by itself: each statement holds mu,
// and so does the end.
type sqliteTx struct {
	store *sqlite
	w     *writing
	// own ends with the transaction; a statement that stands in the way of the
	// end is interrupted through it.
	own context.Context //nolint:containedctx // it is the transaction's life, and no call's
	end context.CancelFunc

	mu sync.Mutex
	// doubt: a statement may have ended the transaction.
	doubt bool
	gone  bool
	over  bool
}

// errGone is a transaction that SQLite has given up.
var errGone = errors.New("SQLite has rolled the transaction back after an earlier error")

// Begin implements [Store].
func (s *sqlite) Begin(ctx context.Context, h Hold, _ Limits) (Tx, error) {
	w, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	n, err := ask(context.WithoutCancel(ctx), w, `SELECT 1 FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')`,
		[]any{h.ID.String(), h.Fence, h.Seq}, func(*sql.Rows) error { return nil })
	if err == nil && n == 0 {
		err = ErrLost
	}
	if err != nil {
		w.rollback()
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	t := &sqliteTx{store: s, w: w}
	t.own, t.end = context.WithCancel(context.WithoutCancel(ctx))
	return t, nil
}

// Dialect returns ent's name of the database.
func (t *sqliteTx) Dialect() string { return string(t.store.dialect) }

// Raw implements [Tx]. There is nothing beneath that could be handed out: a
// *sql.Conn outlives the transaction.
func (t *sqliteTx) Raw(query string) (Querier, error) { return t, ownsEnd(t.store.dialect, query) }

// ExecContext implements [Querier].
func (t *sqliteTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(query); err != nil {
		return nil, err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	var on Execer = t.w.conn
	if repeats(t.store.dialect, query) {
		on = t.w
	}
	r, err := on.ExecContext(ctx, query, args...)
	t.doubt = t.doubt || err != nil
	return r, err
}

// QueryContext implements [Querier]. Its statements are not kept: two may be open
// at once that have the same text.
func (t *sqliteTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(query); err != nil {
		return nil, err
	}
	ctx, cancel := t.bounded(ctx)
	t.w.leaks = append(t.w.leaks, cancel)
	rows, err := t.w.conn.QueryContext(ctx, query, args...) //nolint:sqlclosecheck // its caller closes them, or the end does
	if !reads(t.store.dialect, query) || err != nil {
		t.doubt = true // it may write, and may be interrupted while it is read
	}
	return rows, err
}

// bounded returns a statement's context: the caller's, which ends also when the
// end of the transaction has to wait for the statement.
func (t *sqliteTx) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.own, cancel)
	return ctx, func() { stop(); cancel() }
}

// takeover takes mu for the end of the transaction. A statement that is still
// running is interrupted, at once or when ctx ends.
func (t *sqliteTx) takeover(ctx context.Context) {
	if t.mu.TryLock() {
		return
	}
	stop := context.AfterFunc(ctx, t.end)
	t.mu.Lock()
	stop()
}

// ready refuses a statement that cannot take part in the transaction.
func (t *sqliteTx) ready(query string) error {
	if t.over {
		return sql.ErrTxDone
	}
	if err := ownsEnd(t.store.dialect, query); err != nil {
		return err
	}
	return t.stands()
}

// stands returns an error when the transaction is there no more. It asks by
// beginning another, which SQLite refuses inside one.
func (t *sqliteTx) stands() error {
	if t.gone {
		return errGone
	}
	if !t.doubt {
		return nil
	}
	t.doubt = false
	ctx, cancel := context.WithTimeout(context.Background(), rollbackWithin)
	defer cancel()
	if _, err := t.w.conn.ExecContext(ctx, "BEGIN"); err == nil {
		t.gone = true // rollback ends what was begun here
		return errGone
	}
	return nil
}

// Commit implements [Tx].
func (t *sqliteTx) Commit(ctx context.Context, w Write) (Applied, error) {
	t.takeover(ctx)
	defer t.mu.Unlock()
	if t.over {
		return Applied{}, sql.ErrTxDone
	}
	defer t.end()
	t.over = true
	a, err := t.finish(ctx, w)
	if err != nil {
		t.w.rollback()
		return Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	if !a.OK {
		t.w.rollback()
		return Applied{}, nil
	}
	if err := t.w.commit(ctx); err != nil {
		return Applied{}, &UnknownError{err}
	}
	return a, nil
}

// finish makes the last write inside the transaction.
func (t *sqliteTx) finish(ctx context.Context, w Write) (Applied, error) {
	if err := t.stands(); err != nil {
		return Applied{}, err
	}
	if w.Renew {
		if _, err := t.w.ExecContext(ctx, t.store.sql(`UPDATE taskkit_task_process SET last_heartbeat_date = {now}
WHERE ended_date IS NULL AND id = (SELECT scheduled_by_process FROM taskkit_queued_task WHERE id = $1)`), w.ID.String()); err != nil {
			return Applied{}, err
		}
	}
	applied, err := t.store.apply(ctx, t.w, []Write{w})
	if err != nil {
		return Applied{}, err
	}
	return applied[0], nil
}

// Rollback implements [Tx].
func (t *sqliteTx) Rollback() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	t.takeover(ended)
	defer t.mu.Unlock()
	if t.over {
		return
	}
	defer t.end()
	t.over = true
	t.w.rollback()
}
