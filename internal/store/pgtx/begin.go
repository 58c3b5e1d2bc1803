package pgtx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"taskkit.dev/internal/store/sqlbase"
)

// use makes a connection of the pool the connection of the transaction.
func (c *conn) use(reserved *sql.Conn) error {
	c.reserved = reserved
	return reserved.Raw(func(inner any) error {
		c.inner = inner
		return nil
	})
}

// begin sends the first steps, and then more in the same round trip. It reports whether the transaction
// has begun; the error may then come from a further step. If it has not begun and there is no error, nothing was executed, as when
// a step cannot be prepared or encoded: then begin is to be called without more. After any other error, and after a panic, the
// transaction has no connection, and every statement returns the same error.
func (c *conn) begin(ctx context.Context, more ...sqlbase.Step) (began bool, err error) {
	c.failed = errPanicked // until it has returned
	begun := func(n int) bool { return n >= len(c.first) }
	nothing := func(n int) bool { return n == 0 && len(more) > 0 && ctx.Err() == nil }
	used, n, err := c.pool.sendFirst(ctx, c.reserved, slices.Concat(c.first, more), func(n int) bool { return begun(n) || nothing(n) })
	if used != nil && used != c.reserved {
		if lost := c.use(used); lost != nil {
			sqlbase.Discard(used)
			used, err = nil, lost
		}
	}
	switch cause := ctx.Err(); {
	case used != nil && begun(n):
		c.first, c.failed = nil, nil
		return true, err
	case used != nil:
		c.failed = nil
		return false, nil
	case cause != nil:
		err = cause
	}
	c.failed = c.beginError(err)
	return false, c.failed
}

// errPanicked: the first statement of a batch panicked in the driver.
var errPanicked = errors.New("the batch's transaction could not begin: a parameter of its first statement panicked")

// hasBegun reports whether the transaction has begun.
func (c *conn) hasBegun() bool { return len(c.first) == 0 && c.failed == nil }

// ready begins the transaction, if it has not begun.
func (c *conn) ready(ctx context.Context) error {
	if c.failed == nil && len(c.first) > 0 {
		_, err := c.begin(ctx)
		return err
	}
	return c.failed
}

// execFirst runs the statement with which the transaction begins. It reports false if the statement must be sent by itself
// after the beginning: when its text may be several statements, or pgx treats a parameter specially.
func (c *conn) execFirst(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, done bool, err error) {
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

// maxFirstValues is the largest number of parameters of a statement that is sent with the beginning. For a larger one a round
// trip costs little.
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
