package pgtx

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store/sqlbase"
)

// Pool runs transactions on the connections of a *sql.DB. It is safe for concurrent use.
type Pool struct{ db *sql.DB }

// NewPool returns the Pool of a *sql.DB, which stays the caller's.
func NewPool(db *sql.DB) *Pool { return &Pool{db} }

// send runs steps one after another and stops at the first that fails. It returns how many have succeeded. On a
// connection of pgx they take one round trip, on one of another driver one each.
func (p *Pool) send(ctx context.Context, conn *sql.Conn, steps ...sqlbase.Step) (n int, err error) {
	var (
		pipelined bool
		failed    error
	)
	err = conn.Raw(func(inner any) error {
		var c *stdlib.Conn
		if c, pipelined = inner.(*stdlib.Conn); !pipelined {
			return nil
		}
		if n, failed = sendBatch(ctx, c.Conn(), steps); errors.Is(failed, driver.ErrBadConn) {
			return failed // the connection is not returned to the pool
		}
		return nil
	})
	if pipelined || err != nil {
		return n, cmp.Or(failed, err)
	}
	for _, s := range steps {
		if err := s.Run(ctx, conn); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// sendBatch sends steps as a batch of pgx and reads their results.
func sendBatch(ctx context.Context, conn *pgx.Conn, steps []sqlbase.Step) (n int, err error) {
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(steps))}
	for _, s := range steps {
		batch.Queue(s.Text, s.Args...)
	}
	results := conn.SendBatch(ctx, batch)
	for _, s := range steps {
		if err = readResult(results, s); err != nil {
			break
		}
		n++
	}
	return n, cmp.Or(err, results.Close())
}

// readResult reads the next result, the result of a step.
func readResult(results pgx.BatchResults, s sqlbase.Step) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.Row == nil {
			continue
		}
		if err := s.Row(rows.Scan); err != nil {
			return err
		}
	}
	if s.Affected != nil {
		*s.Affected = rows.CommandTag().RowsAffected()
	}
	return rows.Err()
}

// SQLState returns the SQLSTATE of an error that the server has returned, or "".
func SQLState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}

// refused reports whether the server has refused a statement and kept the connection. Errors that end the connection are
// operator intervention (class 57, except the cancellation of one statement) and connection exceptions (class 08).
func refused(err error) bool {
	state := SQLState(err)
	return state != "" && !strings.HasPrefix(state, "08") && (!strings.HasPrefix(state, "57") || state == queryCanceled)
}

// queryCanceled is the SQLSTATE of a statement that was cancelled, or took longer than statement_timeout.
const queryCanceled = "57014"
