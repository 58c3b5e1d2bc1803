package engine

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
)

// Store is what the engine needs of the database. [store.Store] documents each
// method. It must be safe for concurrent use.
type Store interface {
	// The worker's registration.
	RegisterWorker(ctx context.Context, p store.Process) error
	Heartbeat(ctx context.Context, process string, busy int, draining bool) error
	Deregister(ctx context.Context, process string) error

	// Claims.
	Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error)
	Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error)
	Waiting(ctx context.Context, c store.Claim) (bool, error)
	WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error)

	// The work on a task.
	Plan(ctx context.Context, id uuid.UUID) (store.Plan, error)
	Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error)
	Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error)
	Begin(ctx context.Context, h store.Lease, limits store.TxTimeouts) (store.Tx, error)
	Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error)
	Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error)
	Attempts(ctx context.Context, id uuid.UUID, limit int) ([]store.Attempt, error)
	Events(ctx context.Context, id uuid.UUID, limit int) ([]store.Event, error)

	// The children of a task.
	Family(ctx context.Context, l store.Lease) (store.Family, error)
	FailedChild(ctx context.Context, parent uuid.UUID) (store.ChildTask, error)
	Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error)
	CountChildren(ctx context.Context, parent uuid.UUID) (store.ChildCounts, error)
	WakeParents(ctx context.Context, parents []uuid.UUID) ([]uuid.UUID, error)
	PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error)
	RetryChildren(ctx context.Context, l store.Lease, limit int) (int, error)

	// The limits of a task.
	Admit(ctx context.Context, tasks []store.Admission) ([]store.Admitted, error)
	WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error)

	Reap(ctx context.Context, absent []int64) (store.Reaped, error)
	Processes(ctx context.Context, since time.Duration) ([]store.Process, error)
	store.Presence
	store.Cleaner
	store.Health
	store.ScheduleRunner
	// Dialect is passed on to executors that use ent; see [LazyTx.Dialect].
	Dialect() dialect.Name
	// Release frees what the store keeps of the connection pool between calls.
	Release(ctx context.Context)
}
