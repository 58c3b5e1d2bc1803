package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// slowCommits is a store whose commits take a time. It counts the executors that run and the commits that are under way.
type slowCommits struct {
	*memstore.Store
	name dialect.Name
	take time.Duration
	// unanswered: no commit has an answer, and the first one of each task does not happen.
	unanswered bool

	mu                    sync.Mutex
	executing, committing int
	mostExecuting, most   int // of executors, and of both
	tried                 map[uuid.UUID]bool
}

func (s *slowCommits) Dialect() dialect.Name { return s.name }

func (s *slowCommits) count(executing, committing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executing, s.committing = s.executing+executing, s.committing+committing
	s.mostExecuting, s.most = max(s.mostExecuting, s.executing), max(s.most, s.executing+s.committing)
}

// first reports whether it is called for a task for the first time.
func (s *slowCommits) first(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried == nil {
		s.tried = make(map[uuid.UUID]bool)
	}
	again := s.tried[id]
	s.tried[id] = true
	return !again
}

func (s *slowCommits) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return &slowCommitsTx{tx, s}, nil
}

type slowCommitsTx struct {
	store.Tx
	s *slowCommits
}

func (t *slowCommitsTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	t.s.count(0, 1)
	defer t.s.count(0, -1)
	<-time.After(t.s.take)
	if !t.s.unanswered {
		return t.Tx.Commit(ctx, w)
	}
	if t.s.first(w.ID) {
		t.Rollback()
	} else if a, err := t.Tx.Commit(ctx, w); err != nil || !a.OK {
		return a, err
	}
	return store.Applied{}, &store.UnknownError{Err: errors.New("no answer")}
}

// slowWriter writes a row, and takes a time.
type slowWriter struct {
	atOnce
	s    *slowCommits
	take time.Duration
}

func (x *slowWriter) Execute(ctx context.Context, s *engine.Step, state json.RawMessage) (engine.Next, json.RawMessage, error) {
	x.s.count(1, 0)
	defer x.s.count(-1, 0)
	<-time.After(x.take)
	_, err := s.Tx.ExecContext(ctx, insertItem, s.Task.ID.String())
	s.Advance(1)
	return engine.Next{Done: true}, state, err
}

// completed counts the tasks that are COMPLETED, and the rows that they have written.
func (s *slowCommits) completed(t *testing.T) (tasks, rows int) {
	t.Helper()
	all, err := s.Tasks(t.Context(), store.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range all {
		if task.Status == lifecycle.Completed {
			tasks++
		}
	}
	return tasks, len(s.Rows())
}

// While tasks wait for a slot, the last COMMIT of one is made beside its slot. No more executors run than there are slots. A worker
// with one slot, or on SQLite, makes all COMMITs in its slots.
func TestLastCommitLeavesItsSlot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		name   dialect.Name
		slots  int
		most   int // executors and commits at once
		within time.Duration
	}{
		"several slots": {dialect.Postgres, 4, 7, 3 * time.Second},
		"one slot":      {dialect.Postgres, 1, 1, 20 * time.Second},
		"SQLite":        {dialect.SQLite, 4, 4, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &slowCommits{Store: memstore.New(), name: tc.name, take: 100 * time.Millisecond}
				s.Accept(insertItem)
				const tasks = 80
				for range tasks {
					submit(t, s.Store)
				}
				c := config(t)
				c.Slots = tc.slots
				ended := make(chan struct{}, tasks)
				c.Observe = func(_ context.Context, e engine.Event) {
					if _, ok := e.(engine.TaskEnded); ok {
						ended <- struct{}{}
					}
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				stopped := make(chan error, 1)
				go func() { stopped <- engine.New(s, demo(&slowWriter{s: s, take: 100 * time.Millisecond}), c).Run(ctx) }()
				for range tasks {
					<-ended
				}
				lasted := time.Since(began)
				cancel()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				if done, rows := s.completed(t); done != tasks || rows != tasks {
					t.Errorf("%d tasks have completed and %d rows were written, want %d", done, rows, tasks)
				}
				if s.mostExecuting != tc.slots || s.most != tc.most {
					t.Errorf("%d executors ran at once, and %d with commits, want %d and %d", s.mostExecuting, s.most, tc.slots, tc.most)
				}
				if lasted > tc.within {
					t.Errorf("took %v of the bubble's clock, want %v", lasted, tc.within)
				}
			})
		})
	}
}

// A last COMMIT beside the slot without an answer is read back, and the batch is executed again if it has not happened.
func TestUnansweredLastCommitBesideTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowCommits{Store: memstore.New(), name: dialect.Postgres, take: 100 * time.Millisecond, unanswered: true}
		s.Accept(insertItem)
		const tasks = 80
		for range tasks {
			submit(t, s.Store)
		}
		c := config(t)
		c.Slots = 4
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, demo(&slowWriter{s: s, take: 100 * time.Millisecond}), c).Run(ctx); err != nil {
			t.Error(err)
		}
		if done, rows := s.completed(t); done != tasks || rows != tasks {
			t.Errorf("%d tasks have completed and %d rows were written, want %d", done, rows, tasks)
		}
		if s.most < 7 {
			t.Errorf("%d executors and commits at once: none was beside its slot", s.most)
		}
	})
}

// refusesFirstEnd is a store that does not apply the first end of a task in a group.
type refusesFirstEnd struct {
	*memstore.Store
	once sync.Once
}

func (s *refusesFirstEnd) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	refused := false
	for _, w := range writes {
		if w.To.Terminal() {
			s.once.Do(func() { refused = true })
		}
	}
	if refused {
		return make([]store.Applied, len(writes)), nil
	}
	return s.Store.Apply(ctx, process, writes)
}

// writesLater is done at once, and writes a row when it is called again.
type writesLater struct {
	atOnce
	calls int
}

func (x *writesLater) Execute(ctx context.Context, s *engine.Step, state json.RawMessage) (engine.Next, json.RawMessage, error) {
	if x.calls++; x.calls == 1 {
		return engine.Next{Done: true}, state, nil
	}
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	return engine.Next{Done: true}, state, err
}

// A session that goes on outside its slot, as its end in a group was not applied, makes its last COMMIT itself.
func TestSessionOutsideItsSlotCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &refusesFirstEnd{Store: memstore.New()}
		s.Accept(insertItem)
		id := submit(t, s.Store)
		c := config(t)
		c.Slots = 4
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := engine.New(s, demo(&writesLater{}), c).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Completed || len(s.Rows()) != 1 {
			t.Errorf("%s with %d rows (%v), want COMPLETED with one", task.Status, len(s.Rows()), err)
		}
	})
}

// A worker that ends waits for the COMMITs beside its slots.
func TestDrainWaitsForLastCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowCommits{Store: memstore.New(), name: dialect.Postgres, take: 5 * time.Second}
		s.Accept(insertItem)
		for range 80 {
			submit(t, s.Store)
		}
		c := config(t)
		c.Slots = 4
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := engine.New(s, demo(&slowWriter{s: s, take: 100 * time.Millisecond}), c).Run(ctx); err != nil {
			t.Error(err)
		}
		// Three have left their slots after 100 ms, and four others have executed there since.
		if done, rows := s.completed(t); done != 7 || rows != 7 || s.committing != 0 {
			t.Errorf("%d tasks have completed and %d rows were written, want 7; %d commits are under way, want none", done, rows, s.committing)
		}
	})
}
