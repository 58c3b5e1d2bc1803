// Package txguard keeps a batch's transaction the same on every database after a
// statement of it has failed.
//
// PostgreSQL aborts a transaction with its first failed statement and refuses all
// others with SQLSTATE 25P02; SQLite continues. An executor that ignores the error
// would lose the first error on one database and commit half a batch on the other.
// So the guard remembers the first statement that failed outside a savepoint,
// refuses those that follow, and reports it to the runtime, which does not commit. A
// statement that would end the transaction counts as failed.
//
// A statement may also fail while its rows are read, which only rows.Err returns. A
// *sql.Rows cannot be wrapped, so the guard keeps it and reads that error before
// each further statement and at the end. Rows that are open then are an error too:
// PostgreSQL can neither run a statement nor commit while they are; SQLite could.
package txguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlscan"
)

// Tx is a guarded transaction. It is as safe for concurrent use as the one that
// it guards.
type Tx struct {
	store.Tx
	dialect dialect.Name
	never   bool // see [Tx.NeverCommit]

	mu sync.Mutex
	// failed has the first error at each level: of the transaction, and of each
	// open savepoint of [Tx.Savepoint] within the one before.
	failed []error
	// reading has the rows that were still open at the last check.
	reading []reading
}

// reading is a query whose rows an executor reads.
type reading struct {
	rows  Rows
	query string
}

// Rows are the rows of a statement: *sql.Rows, or what wraps them. Columns is the
// method that returns the error that ended them and may be called by any goroutine
// at any time. Err takes the end of the statement's context for an error even when
// it came after the rows had been closed.
type Rows interface{ Columns() ([]string, error) }

// New guards a transaction that has just begun.
func New(tx store.Tx, d dialect.Name) *Tx {
	return &Tx{Tx: tx, dialect: d, failed: make([]error, 1)}
}

// Insert implements [store.Tx].
func (t *Tx) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	if err := t.Failed(); err != nil {
		return &SpoiledError{err}
	}
	err := t.Tx.Insert(ctx, tasks, notify)
	t.Record("INSERT", err)
	return err
}

// NeverCommit makes the transaction one of a preview, whose Commit is refused. It is
// called before the transaction is used.
func (t *Tx) NeverCommit() { t.never = true }

// Commit implements [store.Tx].
func (t *Tx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	if t.never {
		t.Rollback()
		return store.Applied{}, &classify.MarkedError{
			Class: lifecycle.Permanent, Code: classify.CodeMisuse,
			Err: errors.New("commit what a preview has written: it was rolled back instead; this is a fault of taskkit, please report it"),
		}
	}
	return t.Tx.Commit(ctx, w)
}

// SpoiledError is what a statement gets that follows a failed one. It unwraps to
// the error of the failed one.
type SpoiledError struct{ First error }

func (e *SpoiledError) Error() string {
	return fmt.Sprintf("an earlier statement of this batch's transaction failed, so this one was not run; "+
		"return the error (that of rows is rows.Err), or run a statement that may fail inside b.Try: %v", e.First)
}

// Unwrap returns the error of the failed statement.
func (e *SpoiledError) Unwrap() error { return e.First }

// Failed returns the error of the first statement that failed outside a savepoint
// and was not undone, or nil.
func (t *Tx) Failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect()
	return t.failed[0]
}

// Unclosed returns the error of a batch that has ended without closing its rows, or
// nil.
func (t *Tx) Unclosed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect()
	return t.unclosed()
}

// unclosed is Unclosed as of the last check. The caller has locked mu.
func (t *Tx) unclosed() error {
	if len(t.reading) == 0 {
		return nil
	}
	return &classify.MarkedError{
		Class: lifecycle.Permanent, Code: classify.CodeMisuse,
		Err: fmt.Errorf("the rows of the query %.200q on b.Tx were not closed: close them with rows.Close before the next statement and before the executor returns", t.reading[0].query),
	}
}

// Reads notes the rows of a query that ran on a handle of [Tx.Handle].
func (t *Tx) Reads(query string, rows Rows) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading = append(t.reading, reading{rows, query})
}

// rowsClosed is the text of the error that the rows of database/sql have when they
// were closed and nothing failed. It has no name there.
const rowsClosed = "sql: Rows are closed"

// collect notes the errors of the rows that have been closed since the last call. Each
// counts at the present level, where PostgreSQL aborts the transaction too. The caller
// has locked mu.
func (t *Tx) collect() {
	open := t.reading[:0]
	for _, r := range t.reading {
		_, err := r.rows.Columns()
		if err == nil {
			open = append(open, r)
			continue
		}
		if top := len(t.failed) - 1; t.failed[top] == nil && err.Error() != rowsClosed {
			t.failed[top] = err
		}
	}
	clear(t.reading[len(open):])
	t.reading = open
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

// check refuses a statement after a failed one, and while rows are open.
func (t *Tx) check(query string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect()
	if err := t.failed[len(t.failed)-1]; err != nil && !sqlscan.IsRollbackTo(t.dialect, query) {
		return &SpoiledError{err}
	}
	return t.refuseOpen()
}

// refuseOpen returns the error of a statement that follows a query whose rows are open,
// and notes it. The caller has locked mu.
func (t *Tx) refuseOpen() error {
	err := t.unclosed()
	if top := len(t.failed) - 1; err != nil && t.failed[top] == nil {
		t.failed[top] = err
	}
	return err
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

// QueryContext implements [store.Querier].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.check(query); err != nil {
		return nil, err
	}
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	t.Record(query, err)
	if err == nil {
		t.Reads(query, rows)
	}
	return rows, err
}

// Handle implements [store.Tx]. Whoever runs a statement on the handle reports its
// error with [Tx.Record] and its rows with [Tx.Reads].
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
	if err := t.check(""); err != nil {
		return err
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
	t.mu.Lock()
	t.collect() // what has failed so far is undone
	err := t.refuseOpen()
	t.mu.Unlock()
	if err != nil {
		return err
	}
	err = t.Tx.RollbackTo(ctx, name)
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
	if err := t.check(""); err != nil {
		return err
	}
	if err := t.Tx.ReleaseSavepoint(ctx, name); err != nil {
		t.Record("", err)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if top := len(t.failed) - 1; top > 0 {
		t.failed = t.failed[:top]
	}
	return nil
}

// RenewSavepoint implements [store.Tx], as ReleaseSavepoint does.
func (t *Tx) RenewSavepoint(ctx context.Context, name string) error {
	if err := t.check(""); err != nil {
		return err
	}
	err := t.Tx.RenewSavepoint(ctx, name)
	t.Record("", err)
	return err
}

// CloseSavepoint leaves a savepoint that could not be released: what failed in it
// counts for the level below.
func (t *Tx) CloseSavepoint() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.collect()
	top := len(t.failed) - 1
	if top == 0 {
		return
	}
	if t.failed[top-1] == nil {
		t.failed[top-1] = t.failed[top]
	}
	t.failed = t.failed[:top]
}
