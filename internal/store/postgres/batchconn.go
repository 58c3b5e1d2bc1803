package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/store/sqlbase"
)

// batchConn is a connection of the pool that begins a batch's transaction with the first statement. It is the
// only connection of a pool of its own, whose *sql.Tx executors get: [sql.DB] has no other way to
// make one, and with its own BEGIN and COMMIT a batch has two round trips more.
//
// The *sql.Conn keeps everybody else from the driver's connection until it is closed, so inner may be used outside
// of [sql.Conn.Raw]. The calls come from the pool of its own, one at a time.
type batchConn struct {
	pool *sender
	task uuid.UUID
	// first are BEGIN and the lock while they have not been sent, and failed is why they could not be.
	first  []sqlbase.Step
	failed error
	conn   *sql.Conn
	inner  any
	// send is [sender.send], and rollback is ROLLBACK. Both end with a context of the batch's own.
	send     func(...sqlbase.Step) (int, error)
	rollback func() error
	// last are the statements that are sent together with COMMIT, before it.
	last []sqlbase.Step
	done int // how many of last have succeeded
}

// endWith prepares the connection for a transaction whose COMMIT and ROLLBACK end with own.
func (c *batchConn) endWith(own context.Context) {
	c.send = func(s ...sqlbase.Step) (int, error) { return c.pool.send(own, c.conn, s...) }
	c.rollback = func() error {
		_, err := c.conn.ExecContext(own, "ROLLBACK")
		return err
	}
}

// Connect and Driver implement [driver.Connector].
func (c *batchConn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (*batchConn) Driver() driver.Driver                          { return nil }

// Close implements [driver.Conn]: the connection goes back to the pool.
func (c *batchConn) Close() error { return c.conn.Close() }

// Begin and BeginTx implement [driver.Conn] and [driver.ConnBeginTx]. The transaction has begun, or begins with
// its first statement.
func (c *batchConn) Begin() (driver.Tx, error)                                    { return c, nil }
func (c *batchConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

// Commit implements [driver.Tx]. When the server refuses one of the last statements, it
// has not committed, and the transaction is rolled back.
func (c *batchConn) Commit() error {
	if c.failed != nil {
		return c.failed
	}
	// A transaction without a statement begins here.
	c.last, c.first = slices.Concat(c.first, c.last), nil
	n, err := c.send(append(c.last, sqlbase.Step{Text: "COMMIT"})...)
	c.done = min(n, len(c.last))
	switch {
	case err == nil:
	case refused(err): // COMMIT too may have been refused before it was executed
		_ = c.Rollback()
	default:
		sqlbase.Discard(c.conn)
	}
	return err
}

// refusedLast reports whether the error of a commit is that of one of the last statements: it was not committed.
func (c *batchConn) refusedLast(err error) bool { return c.done < len(c.last) && refused(err) }

// Rollback implements [driver.Tx].
func (c *batchConn) Rollback() error {
	if !c.hasBegun() {
		return nil
	}
	err := c.rollback()
	if err != nil {
		sqlbase.Discard(c.conn)
	}
	return err
}

// ExecContext implements [driver.ExecerContext].
func (c *batchConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(c.first) > 0 && c.failed == nil {
		if r, done, err := c.execFirst(ctx, query, args); done {
			return r, err
		}
	}
	if c.failed != nil {
		return nil, c.failed
	}
	if d, ok := c.inner.(driver.ExecerContext); ok {
		return d.ExecContext(ctx, query, args)
	}
	return nil, driver.ErrSkip
}

// QueryContext implements [driver.QueryerContext].
func (c *batchConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if d, ok := c.inner.(driver.QueryerContext); ok {
		return d.QueryContext(ctx, query, args)
	}
	return nil, driver.ErrSkip
}

// Prepare and PrepareContext implement [driver.Conn] and [driver.ConnPrepareContext].
func (c *batchConn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *batchConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if d, ok := c.inner.(driver.ConnPrepareContext); ok {
		return d.PrepareContext(ctx, query)
	}
	return nil, errors.New("the driver's connection cannot prepare statements under a context")
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *batchConn) CheckNamedValue(v *driver.NamedValue) error {
	if d, ok := c.inner.(driver.NamedValueChecker); ok {
		return d.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
