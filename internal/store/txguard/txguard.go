// Package txguard keeps a batch's transaction the same on every database after a
// statement of it has failed.
//
// PostgreSQL aborts a transaction with its first failed statement and refuses all
// others with SQLSTATE 25P02; SQLite continues. An executor that ignores the error
// would lose the first error on one database and commit half a batch on the other.
// So the guard remembers the first statement that failed outside a savepoint,
// refuses those that follow, and tells the runtime, which does not commit. A
// statement that would end the transaction counts as failed.
package txguard

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlscan"
)

// Tx is a guarded transaction. It is as safe for concurrent use as the one that
// it guards.
type Tx struct {
	store.Tx
	dialect dialect.Name

	mu sync.Mutex
	// failed has the first error at each level: of the transaction, and of each
	// open savepoint of [Tx.Savepoint] within the one before.
	failed []error
}

// New guards a transaction that has just begun.
func New(tx store.Tx, d dialect.Name) *Tx {
	return &Tx{Tx: tx, dialect: d, failed: make([]error, 1)}
}

// SpoiledError is what a statement gets that follows a failed one. It unwraps to
// the error of the failed one.
type SpoiledError struct{ First error }

func (e *SpoiledError) Error() string {
	return fmt.Sprintf("an earlier statement of this batch's transaction failed, so this one was not run; "+
		"return the error, or run a statement that may fail inside b.Try: %v", e.First)
}

// Unwrap returns the error of the failed statement.
func (e *SpoiledError) Unwrap() error { return e.First }

// Failed returns the error of the first statement that failed outside a savepoint
// and was not undone, or nil.
func (t *Tx) Failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed[0]
}

// Record notes the error of a statement that ran on a handle of [Tx.Handle]. A nil
// error is allowed.
func (t *Tx) Record(query string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	top := len(t.failed) - 1
	switch {
	case err != nil && t.failed[top] == nil:
		t.failed[top] = err
	case err == nil && t.failed[top] != nil && sqlscan.IsRollbackTo(t.dialect, query):
		// The savepoint was there before the failure: none is opened after one.
		t.failed[top] = nil
	}
}

// check refuses a statement after a failed one.
func (t *Tx) check(query string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.failed[len(t.failed)-1]; err != nil && !sqlscan.IsRollbackTo(t.dialect, query) {
		return &SpoiledError{err}
	}
	return nil
}

// ExecContext implements [store.Querier].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.check(query); err != nil {
		return nil, err
	}
	r, err := t.Tx.ExecContext(ctx, query, args...)
	t.Record(query, err)
	return r, err
}

// QueryContext implements [store.Querier]. An error that occurs while the rows are
// read is not seen here; on PostgreSQL it aborts the transaction, which the next
// statement or the commit reports.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.check(query); err != nil {
		return nil, err
	}
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	t.Record(query, err)
	return rows, err
}

// Handle implements [store.Tx]. Whoever runs a statement on the handle reports its
// error with [Tx.Record].
func (t *Tx) Handle(query string) (store.Querier, error) {
	if err := t.check(query); err != nil {
		return nil, err
	}
	h, err := t.Tx.Handle(query)
	if err != nil {
		t.Record(query, err)
	}
	return h, err
}

// Savepoint implements [store.Tx].
func (t *Tx) Savepoint(ctx context.Context, name string) error {
	t.mu.Lock()
	err := t.failed[len(t.failed)-1]
	t.mu.Unlock()
	if err != nil {
		return &SpoiledError{err}
	}
	if err := t.Tx.Savepoint(ctx, name); err != nil {
		t.Record("", err)
		return err
	}
	t.mu.Lock()
	t.failed = append(t.failed, nil)
	t.mu.Unlock()
	return nil
}

// RollbackTo implements [store.Tx].
func (t *Tx) RollbackTo(ctx context.Context, name string) error {
	err := t.Tx.RollbackTo(ctx, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if top := len(t.failed) - 1; err == nil {
		t.failed[top] = nil
	} else if t.failed[top] == nil {
		t.failed[top] = err
	}
	return err
}

// ReleaseSavepoint implements [store.Tx]. A savepoint in which a statement has
// failed cannot be released, only rolled back to.
func (t *Tx) ReleaseSavepoint(ctx context.Context, name string) error {
	t.mu.Lock()
	top := len(t.failed) - 1
	err := t.failed[top]
	t.mu.Unlock()
	if err != nil {
		return &SpoiledError{err}
	}
	if err = t.Tx.ReleaseSavepoint(ctx, name); err != nil {
		t.Record("", err)
		return err
	}
	t.mu.Lock()
	if top > 0 {
		t.failed = t.failed[:top]
	}
	t.mu.Unlock()
	return nil
}

// CloseSavepoint leaves a savepoint that could not be released: what failed in it
// counts for the level below.
func (t *Tx) CloseSavepoint() {
	t.mu.Lock()
	defer t.mu.Unlock()
	top := len(t.failed) - 1
	if top == 0 {
		return
	}
	if t.failed[top-1] == nil {
		t.failed[top-1] = t.failed[top]
	}
	t.failed = t.failed[:top]
}
