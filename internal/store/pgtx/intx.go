package pgtx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// setIdleTimeout bounds the silence of a client inside a transaction of
// the store. Its rows are locked until the server ends it, and reapers skip
// locked rows: nothing could be taken over from a process that could not be
// declared dead.
const setIdleTimeout = "SET LOCAL idle_in_transaction_session_timeout = '5s'"

// InTx runs f in a transaction. No connection returns to the pool before its transaction has ended. An error
// of the COMMIT leaves open whether the transaction was committed.
func (p *Pool) InTx(ctx context.Context, f func(store.Querier) error) error {
	t := &tx{pool: p}
	done := false
	defer func() {
		if !done {
			t.rollback(ctx)
		}
	}()
	err := f(t)
	if err == nil {
		err = t.commit(ctx)
	}
	done = err == nil
	return err
}

// tx is a transaction that begins with its first statement. BEGIN, the steps that wait and COMMIT are one
// round trip if nothing comes between them.
type tx struct {
	pool   *Pool
	conn   *sql.Conn // nil: it has not begun
	steps  []sqlbase.Step
	failed error // of a statement: the server would answer COMMIT with ROLLBACK, which is no error
}

// beginning are the steps that begin a transaction.
var beginning = []sqlbase.Step{{Text: "BEGIN"}, {Text: setIdleTimeout}}

// Add implements [sqlbase.Queue].
func (t *tx) Add(steps ...sqlbase.Step) { t.steps = append(t.steps, steps...) }

// Flush implements [sqlbase.Queue].
func (t *tx) Flush(ctx context.Context) error {
	if len(t.steps) == 0 {
		return nil
	}
	return t.send(ctx)
}

// send sends the steps that wait, and more after them.
func (t *tx) send(ctx context.Context, more ...sqlbase.Step) error {
	if err := ctx.Err(); err != nil {
		return err // a driver may call the connection bad instead
	}
	var all []sqlbase.Step
	if t.conn == nil {
		all = append(all, beginning...)
	}
	first, steps := len(all), t.steps
	t.steps = nil
	all = slices.Concat(all, steps, more)
	n, err := t.sendOn(ctx, all)
	if err == nil {
		return nil
	}
	t.failed = err
	if at := n - first; at >= 0 && at < len(steps) {
		return steps[at].Err(err)
	}
	return err
}

// sendOn sends steps on the connection of the transaction, and if it has none on one of the pool.
func (t *tx) sendOn(ctx context.Context, all []sqlbase.Step) (n int, err error) {
	if t.conn != nil {
		return t.pool.send(ctx, t.conn, all...)
	}
	conn, err := t.pool.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	t.conn, n, err = t.pool.sendFirst(ctx, conn, all, func(int) bool { return false })
	return n, err
}

// ExecContext implements [store.Querier].
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	r, err := t.conn.ExecContext(ctx, query, args...)
	return r, t.note(ctx, err)
}

// QueryContext implements [store.Querier].
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryContext(ctx, query, args...)
	return rows, t.note(ctx, err)
}

// ready begins the transaction and sends what waits.
func (t *tx) ready(ctx context.Context) error {
	if t.failed != nil {
		return t.failed
	}
	if t.conn != nil && len(t.steps) == 0 {
		return ctx.Err()
	}
	return t.send(ctx)
}

// note records the error of a statement and returns it. A driver may call the connection bad if the context has ended before
// it sent the statement.
func (t *tx) note(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && errors.Is(err, driver.ErrBadConn) {
		err = ended
	}
	if t.failed == nil {
		t.failed = err
	}
	return err
}

// commit sends COMMIT after the steps that wait. One that has not begun by then, and has no steps, never begins.
func (t *tx) commit(ctx context.Context) error {
	if t.failed != nil {
		return t.failed
	}
	if t.conn == nil && len(t.steps) == 0 {
		return nil
	}
	if err := t.send(ctx, sqlbase.Step{Text: "COMMIT"}); err != nil {
		return err
	}
	_ = t.conn.Close()
	return nil
}

// rollback ends the transaction. A connection whose transaction has not certainly ended is closed.
func (t *tx) rollback(ctx context.Context) {
	if t.conn == nil {
		return
	}
	ctx, cancel := sqlbase.Detached(ctx, sqlbase.RollbackWithin)
	defer cancel()
	if _, err := t.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		sqlbase.Discard(t.conn)
		return
	}
	_ = t.conn.Close()
}
