package tasktest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
)

// A KindOption is a kind with its executor: an option of [Run], an argument of [Start] and an
// element of Case.Kinds. See [WithKind].
type KindOption struct {
	register func(*taskkit.Registry) *session.Kind
}

// WithKind registers a further kind, such as the kind of a stage or of a child. A task that waits for
// children of a kind which is not registered fails the test.
func WithKind[Spec, State, Result any](k *taskkit.Kind[Spec, State, Result], x taskkit.Executor[Spec, State]) KindOption {
	return KindOption{func(r *taskkit.Registry) *session.Kind {
		got := &received[Spec, State]{Executor: x}
		taskkit.Register(r, k, got)
		return got.kind
	}}
}

func (k KindOption) apply(o *options) { o.kinds = append(o.kinds, k) }

// register returns the registered kinds by name. Deferred items wait for a millisecond between
// their rounds.
func register(tb testing.TB, options []KindOption) map[string]*session.Kind {
	tb.Helper()
	var reg taskkit.Registry
	kinds := make(map[string]*session.Kind, len(options))
	for _, o := range options {
		k := o.register(&reg)
		k.DeferDelays = slices.Repeat([]time.Duration{time.Millisecond}, len(k.DeferDelays))
		kinds[k.Name] = k
	}
	if err := reg.Err(); err != nil {
		tb.Fatalf("register: %v", err)
	}
	return kinds
}

// checkChildren returns an error if a task waits for children of a kind that is not registered:
// it would wait for ever.
func (s *faultyStore) checkChildren(ctx context.Context, w store.Write) error {
	if w.Wait == nil {
		return nil
	}
	children, _, err := s.client.Tasks(ctx, taskkit.Filter{
		Parent: w.ID, Limit: 1000,
		Statuses: []taskkit.Status{taskkit.StatusQueued},
	})
	if err != nil {
		return fmt.Errorf("read the children of a task: %w", err)
	}
	for _, c := range children {
		if s.kinds[c.Kind] == nil {
			return fmt.Errorf("task %s waits for a child of the kind %s, which is not registered in this test: "+
				"give Run the option tasktest.WithKind, or set Case.Kinds", w.ID, c.Kind)
		}
	}
	return nil
}

// Start runs a worker with these kinds until the test ends, and returns a client of its database,
// which must be migrated. It is for tests of more than one task, such as of limits and of schedules. The
// worker serves every queue and has four slots. Retries follow at once, and a schedule
// that taskops.Operator.TriggerSchedule fires submits its task within milliseconds.
func Start(tb testing.TB, db *sql.DB, kinds ...KindOption) *taskkit.Client {
	tb.Helper()
	s, err := dbstore.Open(tb.Context(), db, taskkit.DefaultSchema, dbstore.Options{})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	c := engineConfig(runtimeLogger(logger(tb)), 3)
	c.Slots, c.ScheduleEvery = 4, 20*time.Millisecond
	w := engine.New(anyQueue{s}, register(tb, kinds), c)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("worker: %v", err)
		}
	})
	return taskkit.NewClient(db)
}

// anyQueue is a store for workers that serve every queue.
type anyQueue struct{ store.Store }

// queues returns the queues that have a task.
func (s anyQueue) queues(ctx context.Context, c store.Claim) (store.Claim, error) {
	counts, err := s.QueueCounts(ctx, 1)
	c.Queues = slices.Clone(c.Queues)
	for _, q := range counts {
		c.Queues = append(c.Queues, q.Queue)
	}
	slices.Sort(c.Queues)
	c.Queues = slices.Compact(c.Queues)
	return c, err
}

// Claim implements [store.Workers].
func (s anyQueue) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	c, err := s.queues(ctx, c)
	if err != nil {
		return store.ClaimResult{}, err
	}
	return s.Store.Claim(ctx, c)
}

// Waiting implements [store.Workers].
func (s anyQueue) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	c, err := s.queues(ctx, c)
	if err != nil {
		return false, err
	}
	return s.Store.Waiting(ctx, c)
}

// WaitingOwners implements [store.Workers].
func (s anyQueue) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	c, err := s.queues(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Store.WaitingOwners(ctx, c)
}
