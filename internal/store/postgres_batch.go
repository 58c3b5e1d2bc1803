package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

const (
	// commitWithin bounds a COMMIT, whose context is nobody's but its own: the
	// batch's may end while the answer is on its way.
	commitWithin = 15 * time.Second
	// rollbackWithin bounds a ROLLBACK; after it the connection is closed.
	rollbackWithin = 5 * time.Second
)

// postgresTx is a batch's transaction.
type postgresTx struct {
	store *postgres
	tx    *sql.Tx
	// end ends the context that the driver's COMMIT and ROLLBACK run under.
	end  context.CancelFunc
	over bool
}

// Begin implements [Store]. The limits are the server's, so that a worker that
// is stopped or cut off loses its locks; they end with the transaction, as
// nothing may stay behind on a connection that goes through a pooler.
func (s *postgres) Begin(ctx context.Context, h Hold, l Limits) (Tx, error) {
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	began := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-began:
		default:
			end() // still waiting for a connection
		}
	})
	tx, err := s.db.BeginTx(own, nil)
	close(began)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	b := &postgresTx{store: s, tx: tx, end: end}
	n, err := affected(tx.ExecContext(ctx, s.sql(`WITH limits AS MATERIALIZED (
  SELECT set_config('idle_in_transaction_session_timeout', $4, true),
    set_config('statement_timeout', $5, true), set_config('lock_timeout', $6, true)
)
SELECT 1 FROM limits, {s}taskkit_queued_task q
WHERE q.id = $1 AND q.fence = $2 AND q.checkpoint_seq = $3 AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING')
FOR KEY SHARE OF q`), h.ID.String(), h.Fence, h.Seq, setting(l.Idle), setting(l.Statement), setting(l.Lock)))
	if err == nil && n == 0 {
		err = ErrLost
	}
	if err != nil {
		b.Rollback()
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	return b, nil
}

// setting is a limit as PostgreSQL takes it; "0" is none.
func setting(d time.Duration) string { return strconv.FormatInt(millis(d), 10) }

// Dialect returns ent's name of the database.
func (t *postgresTx) Dialect() string { return string(t.store.dialect) }

// Raw implements [Tx].
func (t *postgresTx) Raw(query string) (Querier, error) {
	if err := ownsEnd(t.store.dialect, query); err != nil {
		return nil, err
	}
	return t.tx, nil
}

// ExecContext implements [Querier].
func (t *postgresTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ownsEnd(t.store.dialect, query); err != nil {
		return nil, err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext implements [Querier].
func (t *postgresTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ownsEnd(t.store.dialect, query); err != nil {
		return nil, err
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// Commit implements [Tx].
func (t *postgresTx) Commit(ctx context.Context, w Write) (Applied, error) {
	if t.over {
		return Applied{}, sql.ErrTxDone
	}
	applied, err := t.store.apply(ctx, t.tx, []Write{w})
	if err != nil {
		t.Rollback()
		return Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	if !applied[0].OK {
		t.Rollback()
		return Applied{}, nil
	}
	t.over = true
	deadline := time.AfterFunc(commitWithin, t.end)
	err = t.tx.Commit()
	deadline.Stop()
	t.end()
	if err != nil {
		return Applied{}, &UnknownError{err}
	}
	return applied[0], nil
}

// Rollback implements [Tx].
func (t *postgresTx) Rollback() {
	if t.over {
		return
	}
	t.over = true
	deadline := time.AfterFunc(rollbackWithin, t.end)
	_ = t.tx.Rollback()
	deadline.Stop()
	t.end()
}
