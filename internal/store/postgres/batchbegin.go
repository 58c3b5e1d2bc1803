package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// use makes conn the connection of the batch.
func (c *batchConn) use(conn *sql.Conn) error {
	c.conn = conn
	return conn.Raw(func(inner any) error {
		c.inner = inner
		return nil
	})
}

// begin sends BEGIN and the lock, and then more steps in the same round trip. It reports whether the transaction
// has begun; the error may then be one of more. If it has not begun and there is no error, nothing was executed, as when one of
// them cannot be prepared or encoded: then it is to be begun alone. After any other error, and after a panic, the batch has no
// connection, and all that follows has the same error.
func (c *batchConn) begin(ctx context.Context, more ...sqlbase.Step) (began bool, err error) {
	c.failed = errPanicked // until it has returned
	begun := func(n int) bool { return n >= len(c.first) }
	nothing := func(n int) bool { return n == 0 && len(more) > 0 && ctx.Err() == nil }
	conn, n, err := c.pool.sendFirst(ctx, c.conn, slices.Concat(c.first, more), func(n int) bool { return begun(n) || nothing(n) })
	if conn != nil && conn != c.conn { // it has been replaced
		if lost := c.use(conn); lost != nil {
			sqlbase.Discard(conn)
			conn, err = nil, lost
		}
	}
	switch cause := ctx.Err(); {
	case conn != nil && begun(n):
		c.first, c.failed = nil, nil
		return true, err
	case conn != nil:
		c.failed = nil
		return false, nil
	case cause != nil:
		err = cause
	case sqlState(err) == leaseLost:
		err = store.ErrLost
	}
	c.failed = fmt.Errorf("begin a batch of task %s: %w", c.task, err)
	return false, c.failed
}

// errPanicked: the first statement of a batch panicked in the driver.
var errPanicked = errors.New("the batch's transaction could not begin: a parameter of its first statement panicked")

// hasBegun reports whether the transaction has begun.
func (c *batchConn) hasBegun() bool { return len(c.first) == 0 && c.failed == nil }

// ready begins the transaction, if it has not begun.
func (c *batchConn) ready(ctx context.Context) error {
	if c.failed == nil && len(c.first) > 0 {
		_, err := c.begin(ctx)
		return err
	}
	return c.failed
}

// execFirst runs the statement with which the transaction begins. It reports false if that must be sent by itself, after the beginning:
// its text may be several statements, or pgx may do something special with a parameter.
func (c *batchConn) execFirst(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, done bool, err error) {
	if values, plain := plainValues(args); plain {
		var affected int64
		began, err := c.begin(ctx, sqlbase.Step{Text: query, Args: values, Affected: &affected})
		if began || err != nil {
			return driver.RowsAffected(affected), true, err
		}
	}
	_, err = c.begin(ctx)
	return nil, err != nil, err
}

// maxFirstValues is how many parameters a statement has at most that is sent with the beginning. For a larger one a round trip
// is little.
const maxFirstValues = 1000

// plainValues returns the values of parameters, and whether there are any, not too many, and all are of types of
// database/sql, or lists of these.
func plainValues(args []driver.NamedValue) (values []any, plain bool) {
	if len(args) > maxFirstValues {
		return nil, false
	}
	for _, a := range args {
		switch a.Value.(type) {
		case nil, bool, int, int16, int32, int64, float32, float64, string, []byte, time.Time, []string, []int64, driver.Valuer:
			values = append(values, a.Value)
		default:
			return nil, false
		}
	}
	return values, len(values) > 0
}
