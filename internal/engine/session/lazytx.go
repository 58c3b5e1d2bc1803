package session

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/txchanges"
	"taskkit.dev/internal/store/txguard"
)

// errBeginning: an executor returned while one of its goroutines still waited for
// the transaction. What it wanted to write is in none.
var errBeginning = errors.New("the batch's transaction had not begun when the executor returned: wait for the goroutines that use it")

// errClosed is what an executor gets that uses its transaction after the batch.
var errClosed = errors.New("the batch has ended: its transaction cannot be used any more")

// LazyTx is a batch's transaction. It begins with its first statement, so that
// a batch that works elsewhere keeps none open. The transaction of a preview never commits.
type LazyTx struct {
	store   store.Runtime
	lease   store.Lease
	limits  store.TxTimeouts
	parent  bool               // the task may have children
	watches bool               // policies count the writes of its children
	people  [2]uuid.UUID       // the owner of the task, and as whom it runs
	trace   string             // see [LazyTx.Traceparent]
	changes *txchanges.Counter // nil unless the task is a preview

	mu        sync.Mutex
	beginning chan struct{} // not nil while a goroutine begins it; closed after that
	tx        *txguard.Tx
	failed    error // it did not begin: the batch cannot succeed any more
	children  bool  // see [LazyTx.SubmittedChildren]
	closed    bool
}

func newLazyTx(s store.Runtime, lease store.Lease, l store.TxTimeouts) *LazyTx {
	return &LazyTx{store: s, lease: lease, limits: l}
}

// newPreviewTx returns the transaction of a preview, which counts what its statements
// change.
func newPreviewTx(s store.Runtime, lease store.Lease, l store.TxTimeouts) *LazyTx {
	t := newLazyTx(s, lease, l)
	t.changes = txchanges.New(s.Dialect())
	return t
}

// Task returns the task of the batch.
func (t *LazyTx) Task() uuid.UUID { return t.lease.ID }

// Owner returns the owner of the task.
func (t *LazyTx) Owner() uuid.UUID { return t.people[0] }

// RunAs returns the person as whom the task runs.
func (t *LazyTx) RunAs() uuid.UUID { return t.people[1] }

// Traceparent returns the text that is stored with the task for its trace, and with its children unless they have their own; "" for none.
func (t *LazyTx) Traceparent() string { return t.trace }

// Insert stores children of the task, and notifies workers of them.
func (t *LazyTx) Insert(ctx context.Context, tasks []store.NewTask) error {
	for i := range tasks {
		tasks[i].Traceparent = cmp.Or(tasks[i].Traceparent, t.trace)
	}
	tx, err := t.begin(ctx)
	if err != nil {
		return err
	}
	err = tx.Insert(ctx, tasks, true)
	if err == nil {
		t.SubmittedChildren()
	}
	return err
}

// Schema returns the schema of the tables that the task is in, or "".
func (t *LazyTx) Schema() string { return t.store.Schema() }

// MayHaveChildren reports whether the task may have children.
func (t *LazyTx) MayHaveChildren() bool { return t.parent }

// Watches reports whether policies of the task, or of one above, count the writes of its children.
func (t *LazyTx) Watches() bool { return t.watches }

// SubmittedChildren notes that the batch has submitted children.
func (t *LazyTx) SubmittedChildren() { t.noteChildren(true) }

// noteChildren sets whether the batch has submitted children: children of a savepoint that was
// undone do not count.
func (t *LazyTx) noteChildren(submitted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.children = submitted
}

// submittedChildren reports whether the batch has submitted children.
func (t *LazyTx) submittedChildren() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.children
}

// isPreview reports whether the transaction belongs to a preview.
func (t *LazyTx) isPreview() bool { return t.changes != nil }

// ExecContext implements [store.Querier].
func (t *LazyTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	r, err := tx.ExecContext(ctx, query, args...)
	if err == nil {
		t.Executed(query, r)
	}
	return r, err
}

// QueryContext implements [store.Querier].
func (t *LazyTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err == nil {
		t.Executed(query, nil) // the rows of a *sql.Rows cannot be counted
	}
	return rows, err
}

// Executed notes what a statement has changed that ran on a handle of
// [LazyTx.Handle]. It does nothing but in a preview.
func (t *LazyTx) Executed(query string, r sql.Result) {
	if t.changes != nil {
		t.changes.Executed(query, r)
	}
}

// Queried is Executed for a query. If it returns a function, that is to be called for
// each row that is read: it is one that the query has changed.
func (t *LazyTx) Queried(query string) (read func()) {
	if t.changes == nil {
		return nil
	}
	return t.changes.Queried(query)
}

// Dialect returns ent's name of the database.
func (t *LazyTx) Dialect() string { return string(t.store.Dialect()) }

// Handle begins the transaction and returns the driver's handle for one statement,
// see [store.Tx].
func (t *LazyTx) Handle(ctx context.Context, query string) (store.Querier, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Handle(query)
}

// Record notes the error of a statement that ran on a handle of [LazyTx.Handle].
func (t *LazyTx) Record(query string, err error) {
	t.mu.Lock()
	tx := t.tx
	t.mu.Unlock()
	if tx != nil {
		tx.Record(query, err)
	}
}

// Reads notes the rows of a query that ran on a handle of [LazyTx.Handle].
func (t *LazyTx) Reads(query string, rows txguard.Rows) {
	t.mu.Lock()
	tx := t.tx
	t.mu.Unlock()
	if tx != nil {
		tx.Reads(query, rows)
	}
}

// failedStatement returns the error of the first statement that failed outside a
// savepoint, or why the transaction did not begin, or nil.
func (t *LazyTx) failedStatement() error {
	t.mu.Lock()
	tx, failed := t.tx, t.failed
	t.mu.Unlock()
	if tx == nil {
		return failed
	}
	return tx.Failed()
}

// savepoint, rollbackTo, releaseSavepoint and renewSavepoint are the methods of [store.Tx].
func (t *LazyTx) savepoint(ctx context.Context, name string) error {
	tx, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if err := tx.Savepoint(ctx, name); err != nil {
		return err
	}
	t.onSavepoint("SAVEPOINT", name)
	return nil
}

func (t *LazyTx) rollbackTo(ctx context.Context, name string) error {
	tx, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if err := tx.RollbackTo(ctx, name); err != nil {
		return err
	}
	t.onSavepoint("ROLLBACK", name)
	return nil
}

func (t *LazyTx) releaseSavepoint(ctx context.Context, name string) error {
	tx, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if err := tx.ReleaseSavepoint(ctx, name); err != nil {
		return err
	}
	t.onSavepoint("RELEASE", name)
	return nil
}

func (t *LazyTx) renewSavepoint(ctx context.Context, name string) error {
	tx, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if err := tx.RenewSavepoint(ctx, name); err != nil {
		return err
	}
	t.onSavepoint("RELEASE", name)
	t.onSavepoint("SAVEPOINT", name)
	return nil
}

// onSavepoint notes what was done to a savepoint.
func (t *LazyTx) onSavepoint(verb, name string) {
	if t.changes != nil {
		t.changes.Savepoint(verb, name)
	}
}

// closeSavepoint leaves a savepoint that could not be released.
func (t *LazyTx) closeSavepoint() {
	t.mu.Lock()
	tx := t.tx
	t.mu.Unlock()
	if tx != nil {
		tx.CloseSavepoint()
	}
}

// begin returns the transaction. It may take long, and longer than ctx allows:
// closing the transaction does not wait for that.
func (t *LazyTx) begin(ctx context.Context) (*txguard.Tx, error) {
	for {
		t.mu.Lock()
		tx, beginning, err := t.tx, t.beginning, t.failed
		if t.closed {
			err = errClosed
		}
		first := err == nil && tx == nil && beginning == nil
		if first {
			t.beginning = make(chan struct{})
		}
		t.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case tx != nil:
			return tx, nil
		case first:
			return t.onBegun(t.store.Begin(ctx, t.lease, t.limits))
		}
		select {
		case <-beginning:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// onBegun handles the result of a begin. It is rolled back when the batch has ended
// meanwhile.
func (t *LazyTx) onBegun(begun store.Tx, err error) (*txguard.Tx, error) {
	var tx *txguard.Tx
	if err == nil {
		tx = txguard.New(begun, t.store.Dialect())
		if t.isPreview() {
			tx.NeverCommit()
		}
	}
	t.mu.Lock()
	close(t.beginning)
	t.beginning = nil
	if err != nil {
		t.failed = err
	} else if !t.closed {
		t.tx = tx
	}
	closed := t.closed
	t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case closed:
		tx.Rollback()
		return nil, errClosed
	}
	return tx, nil
}

// close closes the transaction to its executor and returns it: nil when it never
// began. The error is why it did not begin, or that it was still beginning.
func (t *LazyTx) close() (*txguard.Tx, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.beginning != nil && t.failed == nil {
		t.failed = errBeginning
	}
	return t.tx, t.failed
}

// rollback closes the transaction and rolls it back.
func (t *LazyTx) rollback() {
	if tx, _ := t.close(); tx != nil {
		tx.Rollback()
	}
}

var _ interface {
	store.Querier
	Dialect() string
} = (*LazyTx)(nil)
