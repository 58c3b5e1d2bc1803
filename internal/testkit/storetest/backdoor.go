package storetest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// Backdoor reads and changes the rows of a store past its methods, as a test may
// and nobody else: rows that no method would write are planted, and rows that no
// method returns are counted. The rules of the lifecycle do not apply.
type Backdoor interface {
	// Insert stores tasks as [store.Insert] does.
	Insert(ctx context.Context, tasks []store.NewTask, notify bool) error

	// EditTask sets columns of a task.
	EditTask(ctx context.Context, id uuid.UUID, set TaskColumns) error
	// RemoveTasks removes all tasks.
	RemoveTasks(ctx context.Context) error
	// EditProcess sets columns of a process.
	EditProcess(ctx context.Context, id string, set ProcessColumns) error
	// RemoveProcess removes the row of a process.
	RemoveProcess(ctx context.Context, id string) error
	// AddEvent adds an event of a task that has this age, in whole seconds.
	AddEvent(ctx context.Context, task uuid.UUID, age time.Duration) error
	// Count returns how many rows there are.
	Count(ctx context.Context, rows Rows) (int, error)

	// CreateLedger makes the table into which [InsertItem] inserts.
	CreateLedger(ctx context.Context) error
	// Ledger returns how many rows have been committed to it.
	Ledger(ctx context.Context) (int, error)
	// Interrupt executes a statement in a batch's transaction whose context ends
	// while it runs, and returns its error.
	Interrupt(ctx context.Context, tx store.Tx) error
}

// InsertItem is the statement by which the batches of the cases write into the
// ledger. Its parameter is a text.
const InsertItem = "INSERT INTO ledger (item) VALUES ($1)"

// TaskColumns are columns of a task; nil: as it is.
type TaskColumns struct {
	Control  *lifecycle.Control
	Queue    *string
	Revision *int // of the state
	Stalled  *bool
	Attempts *int
	Due      *time.Duration // from now, by the store's clock
}

// ProcessColumns are columns of a process; nil: as it is.
type ProcessColumns struct {
	Heartbeat *time.Duration // from now, by the store's clock
	Ended     *time.Duration // likewise
	Alive     bool           // it has not ended
	Lock      *int64         // its presence lock, which is free
	Absent    *time.Duration // when the lock was first seen to be free, from now
}

// Rows are rows that can be counted.
type Rows string

// The rows that can be counted.
const (
	Tasks          Rows = "tasks"
	Items          Rows = "items"
	Ledgers        Rows = "pages of ledgers"
	Attempts       Rows = "attempts"
	Results        Rows = "results"
	FetchedResults Rows = "fetched results"
	Events         Rows = "events"
)

// sqlOnly are the cases that need a database that reads SQL, and why.
var sqlOnly = map[string]string{
	"InsertExecerOnly":     "there are no handles of several kinds",
	"InsertRollback":       "a caller has no transaction in which to submit",
	"RequestInTransaction": "a caller has no transaction in which to make a request",
	"BatchLeaksRows":       "there are no rows to leave open",
	"BatchTxControl":       "no statement that ends a transaction is accepted",
	"RemoveGuarded":        "nothing happens between a read and a removal",
	"AttackBySQL":          "nobody has a prompt",
	"AttackImmutables":     "nobody has a prompt",
	"AttackEventPrune":     "nobody has a prompt",
}

// submit stores tasks.
func (e *env) submit(tasks []store.NewTask, notify bool) error {
	return e.door.Insert(e.ctx(), tasks, notify)
}

// together calls f with a function that stores tasks, in one transaction where
// there are transactions, and commits it.
func (e *env) together(f func(submit func([]store.NewTask, bool) error)) {
	e.Helper()
	if e.db == nil {
		f(e.submit)
		return
	}
	tx, err := e.submitter.BeginTx(e.ctx(), nil)
	e.ok(err)
	f(func(tasks []store.NewTask, notify bool) error {
		return store.Insert(e.ctx(), tx, e.db.Schema, tasks, notify)
	})
	e.ok(tx.Commit())
}

// edit sets columns of a task.
func (e *env) edit(id uuid.UUID, set TaskColumns) {
	e.Helper()
	e.ok(e.door.EditTask(e.ctx(), id, set))
}

// setControl sets the request that stands on a task.
func (e *env) setControl(id uuid.UUID, c lifecycle.Control) {
	e.Helper()
	e.edit(id, TaskColumns{Control: &c})
}

// removeTasks removes all tasks.
func (e *env) removeTasks() {
	e.Helper()
	e.ok(e.door.RemoveTasks(e.ctx()))
}

// setHeartbeat sets the last heartbeat of a process, from now.
func (e *env) setHeartbeat(process string, at time.Duration) {
	e.Helper()
	e.ok(e.door.EditProcess(e.ctx(), process, ProcessColumns{Heartbeat: &at}))
}

// setEnded ends a process, from now.
func (e *env) setEnded(process string, at time.Duration) {
	e.Helper()
	e.ok(e.door.EditProcess(e.ctx(), process, ProcessColumns{Ended: &at}))
}

// loseLock gives a process a free presence lock, which has been seen to be free
// some time ago; 0: it has not.
func (e *env) loseLock(process string, lock int64, ago time.Duration) {
	e.Helper()
	set := ProcessColumns{Lock: &lock}
	if ago != 0 {
		ago = -ago
		set.Absent = &ago
	}
	e.ok(e.door.EditProcess(e.ctx(), process, set))
}

// LoseLock gives a process of a database a free presence lock.
func LoseLock(ctx context.Context, db *testdb.DB, process string, lock int64) error {
	return sqlBackdoor{db}.EditProcess(ctx, process, ProcessColumns{Lock: &lock})
}

// removeProcess removes the row of a process.
func (e *env) removeProcess(process string) {
	e.Helper()
	e.ok(e.door.RemoveProcess(e.ctx(), process))
}

// count returns how many rows there are.
func (e *env) count(rows Rows) int {
	e.Helper()
	n, err := e.door.Count(e.ctx(), rows)
	e.ok(err)
	return n
}
