package tasktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// watchedBatches is how many batches of a run are watched. Each costs up to three snapshots.
const watchedBatches = 3

// rollbackWatch finds executors that write outside b.Tx: after a batch was rolled back their tables are not as
// before it. The goroutine of the test makes the snapshots while the worker, which executes one batch at
// a time, waits for them. It is safe for concurrent use.
type rollbackWatch struct {
	requests chan chan<- any // for a snapshot, which may be an error

	mu      sync.Mutex
	left    int // batches to watch
	before  any // the tables before the batch
	watches bool
}

// newRollbackWatch returns a watch of so many batches.
func newRollbackWatch(batches int) *rollbackWatch {
	return &rollbackWatch{requests: make(chan chan<- any), left: batches}
}

// snapshot returns a snapshot, or an error when stopped is closed or when it cannot be made.
func (w *rollbackWatch) snapshot(stopped <-chan struct{}) (any, error) {
	reply := make(chan any, 1)
	select {
	case w.requests <- reply:
	case <-stopped:
		return nil, context.Canceled
	}
	select {
	case got := <-reply:
		err, _ := got.(error)
		return got, err
	case <-stopped: // also if the snapshot has ended the test
		return nil, context.Canceled
	}
}

// begin watches the batch that begins. A snapshot that is an error, as of tables that are half written, is no mistake
// of the executor: such a batch is not watched.
func (w *rollbackWatch) begin(stopped <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches = false
	if w.left == 0 {
		return
	}
	before, err := w.snapshot(stopped)
	w.before, w.watches = before, err == nil
}

// committed ends the watch of a batch.
func (w *rollbackWatch) committed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches = false
}

// rolledBack compares the tables after the watched batch was rolled back.
func (w *rollbackWatch) rolledBack(stopped <-chan struct{}) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.watches {
		return nil
	}
	w.watches = false
	w.left--
	after, err := w.snapshot(stopped)
	if err != nil {
		return nil // see begin
	}
	d := diff(after, w.before)
	if d.equal() {
		return nil
	}
	return fmt.Errorf("the executor writes outside b.Tx: after a batch was rolled back its tables have the rows with a plus, and not those with a minus as before the batch. "+
		"If Snapshot reads effects outside the database too, such as mails, set Case.Tables:\n%s", strings.TrimSuffix(d.rows(), "\n"))
}

// errOwnLock is the error of an executor on SQLite that waited for its own transaction.
var errOwnLock = errors.New("does the executor write other than through b.Tx, which holds the write lock?")

// watched is a call of an executor whose effects outside b.Tx are found. With fail, the first attempt of every batch fails
// after the executor's work.
type watched struct {
	session.Call

	store *faultyStore
	fail  bool
}

// openWatched returns an Open of a kind whose calls are watched.
func openWatched(k *session.Kind, s *faultyStore, fail bool) func(session.Task, json.RawMessage) (session.Call, error) {
	open := k.Open
	return func(t session.Task, spec json.RawMessage) (session.Call, error) {
		c, err := open(t, spec)
		return watched{c, s, fail}, err
	}
}

// Execute implements [session.Call].
func (w watched) Execute(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	w.store.watch.begin(w.store.stopped)
	next, out, err := w.Call.Execute(ctx, s, state)
	return next, out, w.executed(s, err)
}

// Targets implements [session.Targeter].
func (w watched) Targets(ctx context.Context, s *session.Step, field string, state json.RawMessage) ([][]byte, session.Next, json.RawMessage, error) {
	t, ok := w.Call.(session.Targeter)
	if !ok {
		return nil, session.Next{}, nil, errors.New("tasktest: the executor finds no targets")
	}
	w.store.watch.begin(w.store.stopped)
	keys, next, out, err := t.Targets(ctx, s, field, state)
	return keys, next, out, w.executed(s, err)
}

// Limits implements [session.Limiter].
func (w watched) Limits() ([]store.Limit, error) {
	l, ok := w.Call.(session.Limiter)
	if !ok {
		return nil, errors.New("tasktest: the executor has no limits")
	}
	return l.Limits()
}

// executed returns the error of a batch of which the executor has returned err.
func (w watched) executed(s *session.Step, err error) error {
	if err == nil && w.fail {
		err = plannedError(s)
	}
	if err == nil {
		return nil
	}
	switch begun := w.store.hasTx(); {
	case !begun:
		w.store.rolledBack() // there is nothing to roll back
	case classify.Busy(err) && w.store.Dialect() == dialect.SQLite:
		w.store.fail(fmt.Errorf("the batch ended with %w: %w", err, errOwnLock))
	}
	return err
}

// errPlanned is the error at the end of a batch.
var errPlanned = errors.New("tasktest: planned error after the executor had finished the batch")

// plannedError is the error of a batch, or nil after its first attempt.
func plannedError(s *session.Step) error {
	if s.Attempt > 1 {
		return nil
	}
	return taskkit.Transient(fmt.Errorf("attempt %d: %w", s.Attempt, errPlanned))
}
