package memstore

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// Store is a database in memory. It is safe for concurrent use.
type Store struct {
	mu        sync.Mutex
	offset    time.Duration // of the store's clock
	tasks     map[uuid.UUID]*row
	order     []uuid.UUID // the tasks by id
	procs     map[string]*Process
	items     map[uuid.UUID][]store.Item
	ledgers   map[uuid.UUID][]store.LedgerPage
	attempts  map[uuid.UUID][]store.Attempt
	results   map[uuid.UUID]*result
	plans     map[uuid.UUID]*plan
	families  map[uuid.UUID]*family
	rates     map[uuid.UUID]rate
	limits    limits
	versions  map[reference]version
	schedules map[string]*schedule
	unknown   map[unknownKey]*unknownKind
	queues    map[string]*store.QueuePause // those that have been paused once
	events    []event
	rows      []Row
	known     map[string]bool // statements of executors, see Accept

	commits  int64
	log      []Change
	paused   *store.PausedError // of the present Insert
	watchers map[int]store.Watcher
	watched  int
	locks    int64 // presence locks that have been taken
	health   store.HealthReading
}

// Double is what a store in memory has of a [store.Store]: all that workers need, requests, and the reads that show
// what was written. What operators count is left to the databases.
type Double interface {
	store.Runtime
	store.Requests
	store.Reader
	KindRates(ctx context.Context, kind string, limit int) ([]workrate.History, error)
	PausedQueues(ctx context.Context) ([]store.QueuePause, error)
	Limited(ctx context.Context, after string, limit int) ([]store.LimitUse, error)
	SettingChanges(ctx context.Context, f store.SettingFilter) ([]store.SettingChange, error)
	UnknownKinds(ctx context.Context) ([]store.UnknownKind, error)
	Schedule(ctx context.Context, name string) (store.Schedule, error)
	ListSchedules(ctx context.Context, after string, limit int) ([]store.Schedule, error)
}

var _ Double = (*Store)(nil)

// Task is a task's row: the columns that the rules of the lifecycle change, and
// those that they do not.
type Task struct {
	lifecycle.Row
	store.Submitted

	ID                    uuid.UUID
	Created, Modified     time.Time
	CreatedBy, ModifiedBy uuid.UUID
	Spec                  json.RawMessage
	Delayed               bool
	MergedKeys            []string // idempotency keys of submissions that were merged into it
}

// row is a task's row and its locks.
type row struct {
	Task
	share  map[*Tx]bool  // batches in progress
	writer *Tx           // a batch that has written and not yet committed
	freed  chan struct{} // closed when a lock is released; nil: there is no waiter
	// revised: spec and state have, or have had, different revisions, or the task a version, which the database stores as spec_revision.
	revised bool
}

// Change is one committed change of a task's row.
type Change struct {
	Commit int64 // the commits are numbered from 1
	At     time.Time
	By     string // the method that made it
	Before *Task  // nil: inserted
	After  *Task  // nil: removed
	// Options are the options of the task when the change was made.
	Options store.Options
	Found   *store.Found // the targets that came with it; nil: none
	Wait    *store.Wait  // for what a parent waits since then; nil: the change is no such wait
}

// Row is the effect of one statement that an executor ran in its batch's
// transaction.
type Row struct {
	Commit    int64
	At        time.Time
	Statement string
	Values    []any
	Lease     store.Lease // of the transaction
}

type event struct {
	store.Event
	task    uuid.UUID
	setting *store.SettingChange // nil: the event is of a task
}

type result struct {
	text     []byte
	revision int
	fetched  bool
	keep     store.Retention
	expiry   time.Time // zero: never
}

// New returns an empty store.
func New() *Store {
	return &Store{
		tasks: make(map[uuid.UUID]*row), procs: make(map[string]*Process),
		items: make(map[uuid.UUID][]store.Item), ledgers: make(map[uuid.UUID][]store.LedgerPage), attempts: make(map[uuid.UUID][]store.Attempt),
		results: make(map[uuid.UUID]*result), plans: make(map[uuid.UUID]*plan), families: make(map[uuid.UUID]*family), rates: make(map[uuid.UUID]rate), limits: newLimits(), versions: make(map[reference]version), schedules: make(map[string]*schedule), queues: make(map[string]*store.QueuePause), unknown: make(map[unknownKey]*unknownKind), known: make(map[string]bool), watchers: make(map[int]store.Watcher),
	}
}

// Dialect implements [store.Workers]: it behaves as this database.
func (s *Store) Dialect() dialect.Name { return dialect.Postgres }

// Schema implements [store.Workers].
func (s *Store) Schema() string { return "" }

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

// Rows returns what executors' statements have written, in the order of the
// commits.
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

// RegisterWorker implements [store.Workers].
func (s *Store) RegisterWorker(ctx context.Context, p store.Process) error {
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
	p.Version = classify.Clean(p.Version)
	p.Started, p.Heartbeat, p.Silence, p.Draining, p.Ended, p.EndReason = now, now, 0, false, nil, ""
	s.procs[p.ID] = &Process{Process: p}
	s.forgetKnown()
	return nil
}

// Release implements [store.Workers]: nothing is kept.
func (s *Store) Release(context.Context) {}

// Heartbeat implements [store.Workers].
func (s *Store) Heartbeat(ctx context.Context, process string, draining bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	p := s.procs[process]
	if p == nil || p.Ended != nil {
		return store.ErrDead
	}
	p.Heartbeat, p.Draining = s.now(), draining
	if p.Lock == p.lost {
		p.Lock = 0
	}
	return nil
}

// Deregister implements [store.Workers].
func (s *Store) Deregister(ctx context.Context, process string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if p := s.procs[process]; p != nil && p.Ended == nil {
		s.endProcess(p, store.EndedLeft)
	}
	commit := s.commit()
	for _, id := range s.order {
		r := s.tasks[id]
		if r.Process != process || !r.Status.InFlight() || r.locked() {
			continue
		}
		t := r.Task
		t.Row = t.ReleaseByLeaving(s.now())
		if err := s.change(commit, "Deregister", r, &t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) endProcess(p *Process, why string) {
	at := s.now()
	p.Ended, p.EndReason = &at, why
}

// running reports whether a process has not ended.
func (s *Store) running(process string) bool {
	p := s.procs[process]
	return p != nil && p.Ended == nil
}

// lastHeartbeat returns the last heartbeat of a process; zero when its row is gone.
func (s *Store) lastHeartbeat(process string) time.Time {
	if p := s.procs[process]; p != nil {
		return p.Heartbeat
	}
	return time.Time{}
}

// silent reports whether the last heartbeat of a process is too long ago.
func (s *Store) silent(p *Process) bool { return s.now().Sub(p.Heartbeat) > p.DeadAfter }

// served reports whether a running process would claim a task.
func (s *Store) served(t *Task) bool {
	for _, p := range s.procs {
		if p.Ended == nil && !p.SafeMode && slices.Contains(p.Kinds[t.Kind], t.Revision) && slices.Contains(p.Queues, t.Queue) {
			return true
		}
	}
	return false
}

// Processes implements [store.Common].
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
		q := p.Process
		q.Present = p.Lock != 0 && p.Ended == nil
		q.Silence = now.Sub(q.Heartbeat)
		for _, t := range s.tasks {
			if t.Status.InFlight() && t.Process == p.ID && q.Busy < q.Slots {
				q.Busy++
			}
		}
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
