package pgtx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"taskkit.dev/internal/store/sqlbase"
)

// conn is the driver's connection of a [Tx]: a connection of the pool that begins the transaction with its first statement
// and sends the last steps with COMMIT. The package doc describes why.
type conn struct {
	pool *Pool
	// reserved is the connection of the pool, and inner its driver's.
	reserved *sql.Conn
	inner    any
	// first are BEGIN and the steps after it, until they have been sent. failed is the error of the beginning.
	first      []sqlbase.Step
	failed     error
	beginError func(error) error
	last       []sqlbase.Step // are sent with COMMIT, before it
	// uncommitted: the error of Commit means that nothing was committed.
	uncommitted bool
	// send and rollback end with the context of [Tx.end].
	send     func(...sqlbase.Step) (int, error)
	rollback func() error
}

// endWith sets the context of COMMIT and ROLLBACK.
func (c *conn) endWith(own context.Context) {
	c.send = func(s ...sqlbase.Step) (int, error) { return c.pool.send(own, c.reserved, s...) }
	c.rollback = func() error {
		_, err := c.reserved.ExecContext(own, "ROLLBACK")
		return err
	}
}

// Connect and Driver implement [driver.Connector].
func (c *conn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (*conn) Driver() driver.Driver                          { return nil }

// Close implements [driver.Conn]: the connection goes back to the pool.
func (c *conn) Close() error { return c.reserved.Close() }

// Begin and BeginTx implement [driver.Conn] and [driver.ConnBeginTx]. BEGIN is sent with the first statement.
func (c *conn) Begin() (driver.Tx, error)                                    { return c, nil }
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

// Commit implements [driver.Tx]. A transaction without a statement begins here.
func (c *conn) Commit() error {
	if c.failed != nil {
		c.uncommitted = true
		return c.failed
	}
	steps := slices.Concat(c.first, c.last, []sqlbase.Step{{Text: "COMMIT"}})
	c.first = nil
	n, err := c.send(steps...)
	switch {
	case err == nil:
	case refused(err): // COMMIT too may have been refused before it was executed
		c.uncommitted = n < len(steps)-1
		_ = c.Rollback()
	default:
		sqlbase.Discard(c.reserved)
	}
	return err
}

// Rollback implements [driver.Tx].
func (c *conn) Rollback() error {
	if !c.hasBegun() {
		return nil
	}
	err := c.rollback()
	if err != nil {
		sqlbase.Discard(c.reserved)
	}
	return err
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
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
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if d, ok := c.inner.(driver.QueryerContext); ok {
		return d.QueryContext(ctx, query, args)
	}
	return nil, driver.ErrSkip
}

// Prepare and PrepareContext implement [driver.Conn] and [driver.ConnPrepareContext].
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	if d, ok := c.inner.(driver.ConnPrepareContext); ok {
		return d.PrepareContext(ctx, query)
	}
	return nil, errors.New("the driver's connection cannot prepare statements under a context")
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if d, ok := c.inner.(driver.NamedValueChecker); ok {
		return d.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
