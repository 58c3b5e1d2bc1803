package memstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/store"
)

// Tx is a batch's transaction.
type Tx struct {
	store  *Store
	lease  store.Lease
	limits store.TxTimeouts
	idle   *time.Timer // ends the transaction in the worker's stead

	// The rest is guarded by the store's mutex.
	row     *row
	over    bool
	killed  bool
	aborted bool // a statement has failed
	rows    []Row
	inserts []insertion
	saved   []savepoint
	write   *store.Write // prepared
	after   *Task
	made    store.Applied // by Finish
}

type savepoint struct {
	name          string
	rows, inserts int
}

// insertion is a task that the transaction stores when it is committed.
type insertion struct {
	task store.NewTask
	plan *plan
}

var (
	errKilled  = &Error{"25P03", "terminating connection due to idle-in-transaction timeout"}
	errAborted = &Error{"25P02", "current transaction is aborted, commands ignored until end of transaction block"}
)

// Begin implements [store.Sessions].
func (s *Store) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	defer s.mu.Unlock()
	r := s.tasks[h.ID]
	if r == nil || !r.LeasedTo(h.Fence, h.Seq) {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, store.ErrLost)
	}
	t := &Tx{store: s, lease: h, limits: l, row: r}
	r.share[t] = true
	if l.Idle > 0 {
		t.idle = time.AfterFunc(l.Idle, t.Kill)
	}
	return t, nil
}

// Kill ends the transaction on the server's side, as when its connection is
// closed or was idle for too long.
func (t *Tx) Kill() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.over {
		t.killed = true
		t.end()
	}
}

// end gives up everything that is not committed. The caller has locked the
// store's mutex.
func (t *Tx) end() {
	t.over = true
	if t.idle != nil {
		t.idle.Stop()
	}
	delete(t.row.share, t)
	if t.row.writer == t {
		t.row.writer = nil
	}
	t.row.unlock()
}

// ready begins a statement of the transaction. The caller has locked the store's
// mutex.
func (t *Tx) ready(ctx context.Context) error {
	switch {
	case t.killed:
		return errKilled
	case t.over:
		return sql.ErrTxDone
	}
	if t.idle != nil {
		t.idle.Reset(t.limits.Idle)
	}
	if err := ctx.Err(); err != nil {
		t.aborted = true // interrupted
		return err
	}
	return nil
}

// Dialect returns ent's name of the database.
func (t *Tx) Dialect() string { return string(t.store.Dialect()) }

// Handle implements [store.Tx].
func (t *Tx) Handle(query string) (store.Querier, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.store.known[query] {
		return nil, unknown(query)
	}
	return t, nil
}

// unknown is the error of a statement that was not registered with [Store.Accept].
func unknown(query string) error {
	return &Error{"42601", "the store in memory does not accept the statement " + query}
}

// ExecContext implements [store.Querier] for the statements that were registered
// with [Store.Accept].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	err := t.statement(ctx, func() error {
		if t.aborted {
			return errAborted
		}
		if !t.store.known[query] {
			t.aborted = true
			return unknown(query)
		}
		t.rows = append(t.rows, Row{Statement: query, Values: args, Lease: t.lease})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return affected(1), nil
}

// Savepoint implements [store.Tx].
func (t *Tx) Savepoint(ctx context.Context, name string) error {
	return t.statement(ctx, func() error { return t.savepoint(name) })
}

// RollbackTo implements [store.Tx].
func (t *Tx) RollbackTo(ctx context.Context, name string) error {
	return t.statement(ctx, func() error { return t.rollbackTo(name) })
}

// ReleaseSavepoint implements [store.Tx].
func (t *Tx) ReleaseSavepoint(ctx context.Context, name string) error {
	return t.statement(ctx, func() error { return t.release(name) })
}

// RenewSavepoint implements [store.Tx].
func (t *Tx) RenewSavepoint(ctx context.Context, name string) error {
	return t.statement(ctx, func() error {
		if err := t.release(name); err != nil {
			return err
		}
		return t.savepoint(name)
	})
}

// statement executes f as one statement of the transaction.
func (t *Tx) statement(ctx context.Context, f func() error) error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if err := t.ready(ctx); err != nil {
		return err
	}
	return f()
}

// savepoint opens a savepoint. The caller has locked the store's mutex, also for
// the next three.
func (t *Tx) savepoint(name string) error {
	if t.aborted {
		return errAborted
	}
	t.saved = append(t.saved, savepoint{name, len(t.rows), len(t.inserts)})
	return nil
}

// rollbackTo undoes what was done since a savepoint.
func (t *Tx) rollbackTo(name string) error {
	i, err := t.find(name)
	if err == nil {
		t.rows, t.inserts = t.rows[:t.saved[i].rows], t.inserts[:t.saved[i].inserts]
		t.saved, t.aborted = t.saved[:i+1], false
	}
	return err
}

// release closes a savepoint.
func (t *Tx) release(name string) error {
	i, err := t.find(name)
	if err == nil && t.aborted {
		err = errAborted
	}
	if err == nil {
		t.saved = t.saved[:i]
	}
	return err
}

// Insert implements [store.Tx]. The tasks must have no keys and no reference: they are not visible
// before the commit, which cannot fail because of them.
func (t *Tx) Insert(ctx context.Context, tasks []store.NewTask, _ bool) error {
	made := make([]insertion, len(tasks))
	for i, n := range tasks {
		err := check(&n)
		if err == nil && (n.UniqueKey != "" || n.IdempotencyKey != "" || n.Reference != "") {
			err = errors.New("the store in memory inserts no task with a key in a batch")
		}
		if err == nil {
			made[i].plan, err = newPlan(&n)
		}
		if err != nil {
			return err
		}
		made[i].task = n
	}
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.inserts = append(t.inserts, made...)
	return nil
}

// find returns the index of the last open savepoint with a name.
func (t *Tx) find(name string) (int, error) {
	for i, p := range slices.Backward(t.saved) {
		if p.name == name {
			return i, nil
		}
	}
	t.aborted = true
	return 0, &Error{"3B001", "savepoint does not exist"}
}

// QueryContext implements [store.Querier]. It always fails, since only drivers
// can make *sql.Rows.
func (t *Tx) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, &Error{"0A000", "the store in memory has no queries"}
}

// Commit implements [store.Tx].
func (t *Tx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	a, err := t.Prepare(ctx, w)
	if err != nil || !a.OK {
		return a, err
	}
	if err := t.Finish(); err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	return t.Answer(a), nil
}

// Answer returns the answer of Prepare with what [Tx.Finish] has decided: a policy, or the stop policy of a task above, may have
// requested something.
func (t *Tx) Answer(a store.Applied) store.Applied {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if w := t.write; w != nil && (w.CheckParents || w.Policies || w.Watched) {
		a.Decided = t.made.Decided
		if !w.To.Terminal() {
			a.Control = t.row.Control
		}
	}
	return a
}

// Prepare makes the batch's last write inside the transaction and keeps the row
// locked. The write is not visible before [Tx.Finish]. On an error, and when the
// task lease is lost, the transaction has ended.
func (t *Tx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	err := t.ready(ctx)
	if errors.Is(err, sql.ErrTxDone) || t.killed {
		return store.Applied{}, err
	}
	if err == nil && t.aborted {
		err = errAborted
	}
	if err == nil && t.write != nil {
		err = errors.New("the batch has had its last write")
	}
	rules, lock := w.Lifecycle(), ctx
	if t.limits.Lock > 0 {
		var cancel context.CancelFunc
		lock, cancel = context.WithTimeout(ctx, t.limits.Lock)
		defer cancel()
	}
	for err == nil {
		r := t.store.tasks[w.ID]
		if r != nil && t.store.keepsOpen(&w) && (r.writer == nil || r.writer == t) {
			t.end()
			return store.Applied{Open: true}, nil
		}
		if r == nil || !r.Accepts(rules) {
			t.end()
			return store.Applied{}, nil
		}
		if !mustWait(r, rules, t) {
			t.after, err = t.store.after(r, &w)
			break
		}
		if err = t.store.await(lock, r); err == nil {
			err = t.ready(ctx)
		} else if ctx.Err() == nil {
			err = &Error{"55P03", "canceling statement due to lock timeout"}
		}
	}
	if err != nil {
		if !t.over {
			t.end()
		}
		return store.Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	t.write, t.row.writer = &w, t
	a := store.Applied{OK: true, Control: t.row.Control}
	if t.after != nil {
		a.Control = t.after.Control
	}
	return a, nil
}

// Finish commits what has been prepared.
func (t *Tx) Finish() error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	switch {
	case t.killed:
		return errKilled
	case t.over || t.write == nil:
		return sql.ErrTxDone
	}
	commit, at := t.store.commit(), t.store.now()
	for _, r := range t.rows {
		r.Commit, r.At = commit, at
		t.store.rows = append(t.store.rows, r)
	}
	for _, i := range t.inserts {
		if err := t.store.insert(commit, &i.task, i.plan); err != nil {
			panic("memstore: insert in a batch: " + err.Error())
		}
	}
	t.made = t.store.make(commit, "Commit", t.row, t.after, t.write)
	t.end()
	if len(t.inserts) > 0 {
		t.store.wake()
	}
	return nil
}

// Rollback implements [store.Tx].
func (t *Tx) Rollback() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.over {
		t.end()
	}
}

// affected is a count of rows as a driver gives it.
type affected int64

func (affected) LastInsertId() (int64, error) { return 0, errors.New("no ids are given out") }

func (n affected) RowsAffected() (int64, error) { return int64(n), nil }
