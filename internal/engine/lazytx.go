package engine

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
)

// errBeginning: an executor returned while a goroutine of its still waited for
// the transaction. What it wanted to write is in none.
var errBeginning = errors.New("the batch's first statement had not begun when the executor returned")

// errSealed is what an executor gets that uses its transaction after the batch.
var errSealed = errors.New("the batch has ended: its transaction cannot be used any more")

// LazyTx is a batch's transaction. It begins with its first statement, so that
// a batch that is busy elsewhere holds none open.
type LazyTx struct {
	store  store.Store
	hold   store.Hold
	limits store.Limits

	mu     sync.Mutex
	begun  chan struct{} // nil unless somebody begins now; closed after that
	tx     store.Tx
	broken error // begin failed: the batch cannot succeed any more
	sealed bool
}

func newLazyTx(s store.Store, h store.Hold, l store.Limits) *LazyTx {
	return &LazyTx{store: s, hold: h, limits: l}
}

// ExecContext implements [store.Querier].
func (t *LazyTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.ExecContext(ctx, query, args...)
}

// QueryContext implements [store.Querier].
func (t *LazyTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.QueryContext(ctx, query, args...)
}

// Dialect returns ent's name of the database.
func (t *LazyTx) Dialect() string { return string(t.store.Dialect()) }

// Raw begins the transaction and returns the driver's handle for one statement,
// see [store.Tx].
func (t *LazyTx) Raw(ctx context.Context, query string) (store.Querier, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Raw(query)
}

// begin returns the transaction. It may take long, and longer than ctx allows:
// nobody who closes the transaction waits for it.
func (t *LazyTx) begin(ctx context.Context) (store.Tx, error) {
	for {
		t.mu.Lock()
		tx, begun, err := t.tx, t.begun, t.broken
		if t.sealed {
			err = errSealed
		}
		first := err == nil && tx == nil && begun == nil
		if first {
			t.begun = make(chan struct{})
		}
		t.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case tx != nil:
			return tx, nil
		case first:
			tx, err = t.store.Begin(ctx, t.hold, t.limits)
			return t.began(tx, err)
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// began takes what the store has begun. It is too late for a batch that has ended
// meanwhile.
func (t *LazyTx) began(tx store.Tx, err error) (store.Tx, error) {
	t.mu.Lock()
	close(t.begun)
	t.begun = nil
	if err != nil {
		t.broken = err
	} else if !t.sealed {
		t.tx = tx
	}
	sealed := t.sealed
	t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case sealed:
		tx.Rollback()
		return nil, errSealed
	}
	return tx, nil
}

// seal closes the transaction to its executor and returns what it was: nil when
// it never began, and the error with which its begin failed, or that it had not
// ended.
func (t *LazyTx) seal() (store.Tx, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	if t.begun != nil && t.broken == nil {
		t.broken = errBeginning
	}
	return t.tx, t.broken
}

// drop gives the transaction up.
func (t *LazyTx) drop() {
	if tx, _ := t.seal(); tx != nil {
		tx.Rollback()
	}
}

var _ interface {
	store.Querier
	Dialect() string
} = (*LazyTx)(nil)

// isSQLite reports whether one write lock serves the whole database.
func isSQLite(s store.Store) bool { return s.Dialect() == dialect.SQLite }
