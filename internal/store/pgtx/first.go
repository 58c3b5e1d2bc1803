package pgtx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"taskkit.dev/internal/store/sqlbase"
)

// connectTries is how many connections are tried.
const connectTries = 3

// sendFirst sends the steps with which a transaction begins. A connection that was lost while it was idle is replaced by
// another one of the pool, as database/sql does. It returns how many steps have succeeded, and the connection that the
// transaction has. After an error the transaction has a connection only if keeps is true for the number of steps; otherwise,
// and after a panic, the connection has been returned to the pool or closed, and nil is returned.
func (p *Pool) sendFirst(
	ctx context.Context, conn *sql.Conn, steps []sqlbase.Step, keeps func(n int) bool,
) (used *sql.Conn, n int, err error) {
	returned := false
	defer func() {
		if !returned { // a parameter has panicked
			sqlbase.Discard(conn)
		}
	}()
	for tries := 1; ; tries++ {
		n, err = p.send(ctx, conn, steps...)
		if err == nil || keeps(n) {
			returned = true
			return conn, n, err
		}
		giveBack(ctx, conn, err)
		if tries < connectTries && n == 0 && unsent(err) {
			if conn, err = p.db.Conn(ctx); err == nil {
				continue
			}
		}
		returned = true
		return nil, n, err
	}
}

// unsent reports whether nothing was sent before an error.
func unsent(err error) bool {
	var safe interface{ SafeToRetry() bool }
	return errors.Is(err, driver.ErrBadConn) || errors.As(err, &safe) && safe.SafeToRetry()
}

// giveBack rolls back what a transaction has begun and returns its connection to the pool, or closes it.
func giveBack(ctx context.Context, conn *sql.Conn, err error) {
	if refused(err) {
		ctx, cancel := sqlbase.Detached(ctx, sqlbase.RollbackWithin)
		defer cancel()
		if _, err = conn.ExecContext(ctx, "ROLLBACK"); err == nil {
			_ = conn.Close()
			return
		}
	}
	sqlbase.Discard(conn)
}
