package sqlitefault

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Connector opens connections whose calls are counted.
type Connector struct {
	*Injector
	inner driver.Connector
}

// New returns a connector over another one.
func New(inner driver.Connector, faults []Fault) *Connector {
	return &Connector{newInjector(faults), inner}
}

// Driver implements [driver.Connector].
func (k *Connector) Driver() driver.Driver { return k.inner.Driver() }

// Connect implements [driver.Connector].
func (k *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	k.mu.Lock()
	k.conns++
	c := &conn{in: k.Injector, number: k.conns}
	k.mu.Unlock()
	err := c.call("Open", "", func() (err error) {
		inner, err := k.inner.Connect(ctx)
		if err != nil {
			return err
		}
		full, ok := inner.(fullConn)
		if !ok {
			return fmt.Errorf("wrap a connection of type %T: it is not one of SQLite's", inner)
		}
		c.fullConn = full
		return nil
	})
	if err != nil {
		if c.fullConn != nil {
			_ = c.fullConn.Close() // opened, and nobody will know
		}
		return nil, err
	}
	return c, nil
}

// fullConn is what the SQLite driver's connections can do.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is one connection. What is not named here is the driver's own.
type conn struct {
	fullConn
	in     *Injector
	number int
	broken atomic.Bool
}

// call makes one call, unless a fault has it otherwise.
func (c *conn) call(name, sql string, do func() error) error {
	call, f := c.in.take(c.number, name, sql)
	fail := &Error{codeIOErr, call}
	if c.broken.Load() {
		return fail
	}
	if f == nil {
		return do()
	}
	switch f.Action {
	case FailBefore:
		return fail
	case BusyBefore:
		return &Error{codeBusy, call}
	case BreakBefore:
		c.broken.Store(true)
		return fail
	case FailAfter, BreakAfter:
		if err := do(); err != nil {
			return err
		}
		if f.Action == BreakAfter {
			c.broken.Store(true)
		}
		return fail
	case Delay:
		late := time.NewTimer(f.Delay)
		defer late.Stop()
		<-late.C
	case Hook:
		f.Hook(call)
	}
	return do()
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return !c.broken.Load() && c.fullConn.IsValid() }

// ResetSession implements [driver.SessionResetter].
func (c *conn) ResetSession(ctx context.Context) error {
	if c.broken.Load() {
		return driver.ErrBadConn
	}
	return c.fullConn.ResetSession(ctx)
}

// Ping implements [driver.Pinger].
func (c *conn) Ping(ctx context.Context) error {
	return c.call("Ping", "", func() error { return c.fullConn.Ping(ctx) })
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(query, func() (driver.Result, error) { return c.fullConn.ExecContext(ctx, query, args) })
}

func (c *conn) exec(query string, do func() (driver.Result, error)) (r driver.Result, err error) {
	err = c.call("Exec", query, func() (err error) {
		r, err = do()
		return err
	})
	return r, err
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(query, func() (driver.Rows, error) { return c.fullConn.QueryContext(ctx, query, args) })
}

func (c *conn) query(query string, do func() (driver.Rows, error)) (driver.Rows, error) {
	var r driver.Rows
	err := c.call("Query", query, func() (err error) {
		r, err = do()
		return err
	})
	if err != nil {
		if r != nil {
			_ = r.Close() // the caller gets none
		}
		return nil, err
	}
	return &rows{r, c, query}, nil
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var s driver.Stmt
	err := c.call("Prepare", query, func() (err error) {
		s, err = c.fullConn.PrepareContext(ctx, query)
		return err
	})
	if err != nil {
		if s != nil {
			_ = s.Close() // the caller gets none
		}
		return nil, err
	}
	full, ok := s.(fullStmt)
	if !ok {
		_ = s.Close()
		return nil, fmt.Errorf("wrap a statement of type %T: it is not one of SQLite's", s)
	}
	return &stmt{full, c, query}, nil
}

// fullStmt is what the SQLite driver's statements can do.
type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt counts the runs of a prepared statement as runs of its text.
type stmt struct {
	fullStmt
	conn  *conn
	query string
}

// ExecContext implements [driver.StmtExecContext].
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.exec(s.query, func() (driver.Result, error) { return s.fullStmt.ExecContext(ctx, args) })
}

// QueryContext implements [driver.StmtQueryContext].
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(s.query, func() (driver.Rows, error) { return s.fullStmt.QueryContext(ctx, args) })
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var t driver.Tx
	err := c.call("Begin", "", func() (err error) {
		t, err = c.fullConn.BeginTx(ctx, opts)
		return err
	})
	if err != nil {
		if t != nil {
			_ = t.Rollback() // the caller has no transaction
		}
		return nil, err
	}
	return &tx{t, c}, nil
}

type tx struct {
	inner driver.Tx
	conn  *conn
}

// Commit implements [driver.Tx].
func (t *tx) Commit() error { return t.conn.call("Commit", "", t.inner.Commit) }

// Rollback implements [driver.Tx].
func (t *tx) Rollback() error { return t.conn.call("Rollback", "", t.inner.Rollback) }

// rows counts what is asked of a statement's rows.
type rows struct {
	driver.Rows
	conn  *conn
	query string
}

// Next implements [driver.Rows]. The end of the rows is no failure.
func (r *rows) Next(dest []driver.Value) error {
	end := false
	err := r.conn.call("Next", r.query, func() error {
		err := r.Rows.Next(dest)
		if err == io.EOF { //nolint:errorlint // the interface wants io.EOF itself
			end = true
			return nil
		}
		return err
	})
	if err == nil && end {
		return io.EOF
	}
	return err
}
