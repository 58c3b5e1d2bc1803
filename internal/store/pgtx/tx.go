package pgtx

import (
	"context"
	"database/sql"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// commitWithin bounds a COMMIT. It runs under a context of its own, as the batch's may end while the answer is on its way.
const commitWithin = 15 * time.Second

// Tx is a transaction that begins with its first statement. Statements run on the *sql.Tx, which is safe for concurrent
// use; Commit and Rollback are called by one goroutine.
type Tx struct {
	*sql.Tx
	conn *conn
	db   *sql.DB            // conn is its only connection
	end  context.CancelFunc // ends the context of COMMIT and ROLLBACK
	over bool
}

// Begin returns a transaction that begins with first, sent after BEGIN and before its first statement. The errors of the
// beginning, here and of the first statement, are passed through failed.
func (p *Pool) Begin(ctx context.Context, failed func(error) error, first ...sqlbase.Step) (*Tx, error) {
	reserved, err := p.db.Conn(ctx)
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return nil, failed(err)
	}
	c := &conn{pool: p, beginError: failed, first: append([]sqlbase.Step{{Text: "BEGIN"}}, first...)}
	if err := c.use(reserved); err != nil {
		sqlbase.Discard(reserved)
		return nil, failed(err)
	}
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	c.endWith(own)
	t := &Tx{conn: c, db: sql.OpenDB(c), end: end}
	if t.Tx, err = t.db.BeginTx(own, nil); err != nil {
		sqlbase.Discard(reserved)
		t.close()
		return nil, failed(err)
	}
	return t, nil
}

// Commit sends the last steps and COMMIT. After an error that is not a [store.UnknownError] nothing was committed.
func (t *Tx) Commit(last ...sqlbase.Step) error {
	if t.over {
		return sql.ErrTxDone
	}
	t.over = true
	t.conn.last = last
	deadline := time.AfterFunc(commitWithin, t.end)
	err := t.Tx.Commit()
	deadline.Stop()
	t.close()
	if err != nil && !t.conn.uncommitted {
		return &store.UnknownError{Err: err}
	}
	return err
}

// Rollback gives everything up. After Commit it does nothing.
func (t *Tx) Rollback() {
	if t.over {
		return
	}
	t.over = true
	deadline := time.AfterFunc(sqlbase.RollbackWithin, t.end)
	_ = t.Tx.Rollback()
	deadline.Stop()
	t.close()
}

// close returns the connection to the pool.
func (t *Tx) close() {
	t.end()
	_ = t.db.Close()
}
