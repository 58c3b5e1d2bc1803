package tasktest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// Batch is a batch for a unit test of an executor, made by [NewBatch]. Pass its
// field Batch to Execute, Targets, Report or Abort.
type Batch[Spec, State any] struct {
	*taskkit.Batch[Spec, State]

	step *session.Step
}

// Progress returns the progress of the task if the batch ended now.
func (b *Batch[Spec, State]) Progress() taskkit.Progress {
	p, _ := b.step.Recorded()
	return taskkit.Progress{Total: p.Total, Done: p.Done, Failed: p.Failed, Skipped: p.Skipped}
}

// Items returns the items that the batch has recorded, with their outcomes.
func (b *Batch[Spec, State]) Items() []taskkit.Item {
	_, items := b.step.Recorded()
	out := make([]taskkit.Item, len(items))
	for n, i := range items {
		out[n] = taskkit.Item{
			Key: json.RawMessage(i.Key), Outcome: taskkit.Outcome(i.Outcome), Code: i.Code, Detail: i.Detail,
			Position: i.Position, Attempt: i.Attempt,
		}
	}
	return out
}

// A BatchOption is an option of [NewBatch]. Only this package implements it.
type BatchOption interface{ applyBatch(o *batchOptions) }

type batchOption func(*batchOptions)

func (f batchOption) applyBatch(o *batchOptions) { f(o) }

type batchOptions struct {
	tx      *sql.Tx
	limit   int
	taken   int
	attempt int
	ending  taskkit.EndReason
	owner   uuid.UUID
	runAs   uuid.UUID
	targets *session.Targets
}

// WithTargets gives the task a frozen set of targets, as [taskkit.WithTargets] does. The type
// must match the kind's list, which is empty in the spec. For [Run], pass taskkit.WithTargets to
// [WithSubmitOptions].
func WithTargets[T any](targets ...T) BatchOption {
	return batchOption(func(o *batchOptions) {
		o.targets = &session.Targets{Total: len(targets), Lists: []any{targets}}
	})
}

// WithTx sets the transaction that the batch works in. The test commits it or
// rolls it back. Without it, each use of b.Tx is an error.
func WithTx(tx *sql.Tx) BatchOption { return batchOption(func(o *batchOptions) { o.tx = tx }) }

// WithTaken sets the position in the list: former batches took the first n elements, and
// [taskkit.Take] continues after them.
func WithTaken(n int) BatchOption { return batchOption(func(o *batchOptions) { o.taken = n }) }

// WithAttempt sets b.Attempt. Defaults to 1.
func WithAttempt(n int) BatchOption { return batchOption(func(o *batchOptions) { o.attempt = n }) }

// WithEnding sets what b.EndReason returns, for tests of Abort and Report. Defaults to
// "", as during Execute.
func WithEnding(e taskkit.EndReason) BatchOption {
	return batchOption(func(o *batchOptions) { o.ending = e })
}

// WithPeople sets b.Owner and b.RunAs. They default to
// [taskkit.SystemOwner].
func WithPeople(owner, runAs uuid.UUID) BatchOption {
	return batchOption(func(o *batchOptions) { o.owner, o.runAs = owner, runAs })
}

// NewBatch returns a batch of a task of a kind, so that a unit test can call an executor
// once. Take, Fail, Skip, Try and the other methods work as in a worker.
// Neither a worker nor, without [WithTx], a database is needed.
func NewBatch[Spec, State, Result any](tb testing.TB, k *taskkit.Kind[Spec, State, Result], spec Spec, state State, opts ...BatchOption) *Batch[Spec, State] {
	tb.Helper()
	o := batchOptions{attempt: 1, owner: taskkit.SystemOwner, runAs: taskkit.SystemOwner}
	for _, opt := range opts {
		opt.applyBatch(&o)
	}
	var reg taskkit.Registry
	c := &captured[Spec, State]{}
	x := &received[Spec, State]{Executor: c}
	taskkit.Register(&reg, k, x)
	limit := o.limit
	if limit <= 0 {
		limit = x.kind.Limit
	}
	s := &txStore{tx: o.tx}
	if o.tx != nil {
		name, err := dialect.Detect(tb.Context(), o.tx)
		if err != nil {
			tb.Fatalf("find out the kind of database: %v", err)
		}
		s.dialect = name
	}
	task := session.Task{
		ID: store.NewID(), Kind: k.Name(), Revision: k.Revision(), SpecRevision: k.Revision(),
		Owner: o.owner, RunAs: o.runAs,
	}
	if o.targets != nil {
		o.targets.Most = max(o.targets.Total-o.taken, 0)
	}
	step := session.NewStandaloneStep(task, s, session.Env{
		Limit: limit, Attempt: o.attempt, Ending: session.Ending(o.ending), Log: logger(tb), Targets: o.targets,
	}, lifecycle.Progress{Total: -1, Position: int64(o.taken)})
	call, err := x.kind.Open(task, nil)
	if err == nil {
		_, _, err = call.Execute(tb.Context(), step, json.RawMessage("{}"))
	}
	if err != nil {
		tb.Fatalf("make a batch: %v", err)
	}
	c.batch.Spec, c.batch.State = spec, state
	return &Batch[Spec, State]{Batch: c.batch, step: step}
}

// captured stores the batch of its call.
type captured[Spec, State any] struct{ batch *taskkit.Batch[Spec, State] }

// Execute implements [taskkit.Executor].
func (c *captured[Spec, State]) Execute(_ context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c.batch = b
	return taskkit.More, nil
}

// txStore begins batches in one transaction of the test. It implements only the methods that
// [session.NewStandaloneStep] calls.
type txStore struct {
	store.Store

	tx      *sql.Tx
	dialect dialect.Name
}

// Dialect implements [store.Workers].
func (s *txStore) Dialect() dialect.Name { return s.dialect }

// Schema implements [store.Workers].
func (s *txStore) Schema() string { return "" }

// Begin implements [store.Sessions].
func (s *txStore) Begin(context.Context, store.Lease, store.TxTimeouts) (store.Tx, error) {
	if s.tx == nil {
		return nil, errors.New("tasktest: this batch has no transaction: give NewBatch the option WithTx")
	}
	return testTx{s.tx}, nil
}

// testTx is a batch's transaction that the test ends.
type testTx struct{ *sql.Tx }

// Handle implements [store.Tx].
func (t testTx) Handle(string) (store.Querier, error) { return t.Tx, nil }

// Insert implements [store.Tx].
func (t testTx) Insert(ctx context.Context, tasks []store.NewTask, _ bool) error {
	return store.Insert(ctx, t.Tx, "", tasks, false)
}

// Savepoint implements [store.Tx].
func (t testTx) Savepoint(ctx context.Context, name string) error {
	return t.exec(ctx, "SAVEPOINT "+name)
}

// RollbackTo implements [store.Tx].
func (t testTx) RollbackTo(ctx context.Context, name string) error {
	return t.exec(ctx, "ROLLBACK TO SAVEPOINT "+name)
}

// ReleaseSavepoint implements [store.Tx].
func (t testTx) ReleaseSavepoint(ctx context.Context, name string) error {
	return t.exec(ctx, "RELEASE SAVEPOINT "+name)
}

// RenewSavepoint implements [store.Tx].
func (t testTx) RenewSavepoint(ctx context.Context, name string) error {
	if err := t.ReleaseSavepoint(ctx, name); err != nil {
		return err
	}
	return t.Savepoint(ctx, name)
}

func (t testTx) exec(ctx context.Context, query string) error {
	_, err := t.ExecContext(ctx, query)
	return err
}

// Commit implements [store.Tx]. It is not called.
func (testTx) Commit(context.Context, store.Write) (store.Applied, error) {
	return store.Applied{}, errors.New("tasktest: the test ends the transaction")
}

// Rollback implements [store.Tx]: the test ends the transaction.
func (testTx) Rollback() {}
