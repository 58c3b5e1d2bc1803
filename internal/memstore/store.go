package memstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Store is a database in memory. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	offset   time.Duration // of the store's clock
	tasks    map[uuid.UUID]*row
	order    []uuid.UUID // the tasks by id
	procs    map[string]*store.Process
	failures map[uuid.UUID][]store.Failure
	attempts map[uuid.UUID][]store.Attempt
	results  map[uuid.UUID]*result
	events   []event
	rows     []Row
	tables   map[string]bool // of the users

	commits  int64
	log      []Change
	watchers map[int]func()
	watched  int
}

var _ store.Store = (*Store)(nil)

// row is a task's row and its locks. Its SpecRevision is 0 while it is that of
// the state.
type row struct {
	store.Task
	share  map[*Tx]bool  // batches in progress
	writer *Tx           // a batch that has written and not yet committed
	freed  chan struct{} // closed when a lock goes; nil: nobody waits
}

// Change is one committed change of a task's row.
type Change struct {
	Commit int64 // the commits are numbered from 1
	At     time.Time
	By     string      // the method that made it
	Before *store.Task // nil: inserted
	After  *store.Task // nil: removed
}

// Row is one row that a batch's transaction has inserted into a table of its
// user's.
type Row struct {
	Commit int64
	At     time.Time
	Table  string
	Values []any
	Hold   store.Hold // of the transaction
}

type event struct {
	store.Event
	task uuid.UUID
}

type result struct {
	text     []byte
	revision int
	fetched  bool
}

// New returns an empty store.
func New() *Store {
	return &Store{
		tasks: make(map[uuid.UUID]*row), procs: make(map[string]*store.Process),
		failures: make(map[uuid.UUID][]store.Failure), attempts: make(map[uuid.UUID][]store.Attempt),
		results: make(map[uuid.UUID]*result), tables: make(map[string]bool), watchers: make(map[int]func()),
	}
}

// Dialect implements [store.Store]: it behaves as this database.
func (s *Store) Dialect() dialect.Name { return dialect.Postgres }

// Now returns the store's clock.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// Jump moves the store's clock.
func (s *Store) Jump(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// Log returns every change of a task so far, in the order of the commits.
func (s *Store) Log() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Rows returns every row of the users' tables, in the order of the commits.
func (s *Store) Rows() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

func (s *Store) now() time.Time { return time.Now().Add(s.offset).UTC() }

// enter begins a statement: it locks the store, unless the context has ended.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	return nil
}

// commit numbers a commit. Every statement that changes something has one.
func (s *Store) commit() int64 {
	s.commits++
	return s.commits
}

// Enrol implements [store.Store].
func (s *Store) Enrol(ctx context.Context, p store.Process) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	const kept = 7 * 24 * time.Hour
	now := s.now()
	for id, old := range s.procs {
		if old.Ended != nil && now.Sub(*old.Ended) > kept {
			delete(s.procs, id)
		}
	}
	if s.procs[p.ID] != nil {
		return nil
	}
	p.Version = errclass.Clean(p.Version)
	p.Started, p.Heartbeat, p.Silence, p.Busy, p.Draining, p.Ended, p.Why = now, now, 0, 0, false, nil, ""
	s.procs[p.ID] = &p
	return nil
}

// Release implements [store.Store]: nothing is kept.
func (s *Store) Release(context.Context) {}

// Beat implements [store.Store].
func (s *Store) Beat(ctx context.Context, process string, busy int, draining bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	p := s.procs[process]
	if p == nil || p.Ended != nil {
		return store.ErrDead
	}
	p.Heartbeat, p.Busy, p.Draining = s.now(), busy, draining
	return nil
}

// Leave implements [store.Store].
func (s *Store) Leave(ctx context.Context, process string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if p := s.procs[process]; p != nil && p.Ended == nil {
		s.endProcess(p, "left")
	}
	commit := s.commit()
	for _, id := range s.order {
		r := s.tasks[id]
		if r.Process != process || !r.Status.InFlight() || r.locked() {
			continue
		}
		t := r.Task
		t.Status, t.Process, t.NotBefore, t.Attempts, t.Reason = workflow.Queued, "", s.now(), max(t.Attempts-1, 0), "its worker left"
		if err := s.change(commit, "Leave", r, &t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) endProcess(p *store.Process, why string) {
	at := s.now()
	p.Ended, p.Why, p.Busy = &at, why, 0
}

// live reports whether a process has not ended.
func (s *Store) live(process string) bool {
	p := s.procs[process]
	return p != nil && p.Ended == nil
}

// silent reports whether a process has said nothing for longer than it said it
// may.
func (s *Store) silent(p *store.Process) bool { return s.now().Sub(p.Heartbeat) > p.DeadAfter }

// known reports whether a live process would claim a task.
func (s *Store) known(t *store.Task) bool {
	for _, p := range s.procs {
		if p.Ended == nil && slices.Contains(p.Kinds[t.Kind], t.Revision) && slices.Contains(p.Queues, t.Queue) {
			return true
		}
	}
	return false
}

// Processes implements [store.Operator].
func (s *Store) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now := s.now()
	var ps []store.Process
	for _, p := range s.procs {
		if p.Ended != nil && now.Sub(*p.Ended) >= since {
			continue
		}
		q := *p
		q.Silence = now.Sub(q.Heartbeat)
		ps = append(ps, q)
	}
	slices.SortFunc(ps, func(a, b store.Process) int {
		switch {
		case (a.Ended == nil) != (b.Ended == nil):
			if a.Ended == nil {
				return -1
			}
			return 1
		case !a.Started.Equal(b.Started):
			return b.Started.Compare(a.Started)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return ps, nil
}
