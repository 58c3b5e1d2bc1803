package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// sharing is a store whose calls share the connections of a worker. Only the listener has one for itself.
type sharing struct {
	store.Runtime
	connections *connections
}

// call waits for a connection, and returns what ends its use.
func (s *sharing) call(ctx context.Context) (end func()) {
	s.connections.take(ctx)
	return s.connections.give
}

// Begin implements [store.Sessions]. The transaction has its connection until it is committed or rolled back.
func (s *sharing) Begin(ctx context.Context, l store.Lease, t store.TxTimeouts) (store.Tx, error) {
	end := s.call(ctx)
	tx, err := s.Runtime.Begin(ctx, l, t)
	if err != nil {
		end()
		return nil, err
	}
	return &sharedTx{tx, sync.OnceFunc(end)}, nil
}

// sharedTx is a transaction on one of the connections.
type sharedTx struct {
	store.Tx
	end func()
}

// Commit implements [store.Tx].
func (t *sharedTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	defer t.end()
	return t.Tx.Commit(ctx, w)
}

// Rollback implements [store.Tx].
func (t *sharedTx) Rollback() {
	defer t.end()
	t.Tx.Rollback()
}

// Watch implements [store.Workers].
func (s *sharing) Watch(ctx context.Context, process string, w store.Watcher) error {
	w.Call = s.call
	return s.Runtime.Watch(ctx, process, w)
}

// RegisterWorker implements [store.Workers].
func (s *sharing) RegisterWorker(ctx context.Context, p store.Process) error {
	defer s.call(ctx)()
	return s.Runtime.RegisterWorker(ctx, p)
}

// Heartbeat implements [store.Workers].
func (s *sharing) Heartbeat(ctx context.Context, process string, draining bool) error {
	defer s.call(ctx)()
	return s.Runtime.Heartbeat(ctx, process, draining)
}

// Deregister implements [store.Workers].
func (s *sharing) Deregister(ctx context.Context, process string) error {
	defer s.call(ctx)()
	return s.Runtime.Deregister(ctx, process)
}

// ReadPresence implements [store.Workers].
func (s *sharing) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	defer s.call(ctx)()
	return s.Runtime.ReadPresence(ctx, process)
}

// FoundAlive implements [store.Workers].
func (s *sharing) FoundAlive(ctx context.Context, process string) (declaredDead bool, err error) {
	defer s.call(ctx)()
	return s.Runtime.FoundAlive(ctx, process)
}

// Probe implements [store.Workers].
func (s *sharing) Probe(ctx context.Context, disk bool) error {
	defer s.call(ctx)()
	return s.Runtime.Probe(ctx, disk)
}

// ReadHealth implements [store.Workers].
func (s *sharing) ReadHealth(ctx context.Context, q store.HealthQuery) (store.HealthReading, error) {
	defer s.call(ctx)()
	return s.Runtime.ReadHealth(ctx, q)
}

// Claim implements [store.Workers].
func (s *sharing) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	defer s.call(ctx)()
	return s.Runtime.Claim(ctx, c)
}

// Unstarted implements [store.Workers].
func (s *sharing) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	defer s.call(ctx)()
	return s.Runtime.Unstarted(ctx, process)
}

// Waiting implements [store.Workers].
func (s *sharing) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	defer s.call(ctx)()
	return s.Runtime.Waiting(ctx, c)
}

// WaitingOwners implements [store.Workers].
func (s *sharing) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	defer s.call(ctx)()
	return s.Runtime.WaitingOwners(ctx, c)
}

// Apply implements [store.Sessions].
func (s *sharing) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	defer s.call(ctx)()
	return s.Runtime.Apply(ctx, process, writes)
}

// Positions implements [store.Sessions].
func (s *sharing) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	defer s.call(ctx)()
	return s.Runtime.Positions(ctx, ids)
}

// Deferred implements [store.Sessions].
func (s *sharing) Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error) {
	defer s.call(ctx)()
	return s.Runtime.Deferred(ctx, id, after, limit)
}

// TakePermits implements [store.Sessions].
func (s *sharing) TakePermits(ctx context.Context, tasks []store.PermitRequest) ([]store.PermitAnswer, error) {
	defer s.call(ctx)()
	return s.Runtime.TakePermits(ctx, tasks)
}

// RetryChildren implements [store.Sessions].
func (s *sharing) RetryChildren(ctx context.Context, l store.Lease, limit int) (int, error) {
	defer s.call(ctx)()
	return s.Runtime.RetryChildren(ctx, l, limit)
}

// Reap implements [store.Upkeep].
func (s *sharing) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	defer s.call(ctx)()
	return s.Runtime.Reap(ctx, absent)
}

// WakeWaiting implements [store.Upkeep].
func (s *sharing) WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error) {
	defer s.call(ctx)()
	return s.Runtime.WakeWaiting(ctx, keys)
}

// DueSchedules implements [store.Upkeep].
func (s *sharing) DueSchedules(ctx context.Context, p store.DueSchedules) (store.SchedulesFound, error) {
	defer s.call(ctx)()
	return s.Runtime.DueSchedules(ctx, p)
}

// FireSchedule implements [store.Upkeep].
func (s *sharing) FireSchedule(ctx context.Context, f store.ScheduleFire) (bool, error) {
	defer s.call(ctx)()
	return s.Runtime.FireSchedule(ctx, f)
}

// FireSchedules implements [store.Upkeep].
func (s *sharing) FireSchedules(ctx context.Context, fires []store.ScheduleFire) (fired []bool, err error) {
	defer s.call(ctx)()
	return s.Runtime.FireSchedules(ctx, fires)
}

// EraseResults implements [store.Upkeep].
func (s *sharing) EraseResults(ctx context.Context, limit int) (int, error) {
	defer s.call(ctx)()
	return s.Runtime.EraseResults(ctx, limit)
}

// EndedKinds implements [store.Upkeep].
func (s *sharing) EndedKinds(ctx context.Context) ([]store.EndedKind, error) {
	defer s.call(ctx)()
	return s.Runtime.EndedKinds(ctx)
}

// RemoveEnded implements [store.Upkeep].
func (s *sharing) RemoveEnded(ctx context.Context, p store.EndedTasks) (store.RemovedEnded, error) {
	defer s.call(ctx)()
	return s.Runtime.RemoveEnded(ctx, p)
}

// RemoveIdle implements [store.Upkeep].
func (s *sharing) RemoveIdle(ctx context.Context, p store.WaitingTasks) (store.RemovedIdle, error) {
	defer s.call(ctx)()
	return s.Runtime.RemoveIdle(ctx, p)
}

// PruneVersions implements [store.Upkeep].
func (s *sharing) PruneVersions(ctx context.Context, p store.OldVersions) (int, error) {
	defer s.call(ctx)()
	return s.Runtime.PruneVersions(ctx, p)
}

// SeeUnknownKinds implements [store.Upkeep].
func (s *sharing) SeeUnknownKinds(ctx context.Context) (report []store.UnknownKind, some bool, err error) {
	defer s.call(ctx)()
	return s.Runtime.SeeUnknownKinds(ctx)
}

// EndUnknownKinds implements [store.Upkeep].
func (s *sharing) EndUnknownKinds(ctx context.Context, process string, after time.Duration, limit int) ([]uuid.UUID, error) {
	defer s.call(ctx)()
	return s.Runtime.EndUnknownKinds(ctx, process, after, limit)
}

// Plan implements [store.Common].
func (s *sharing) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	defer s.call(ctx)()
	return s.Runtime.Plan(ctx, id)
}

// Targets implements [store.Common].
func (s *sharing) Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error) {
	defer s.call(ctx)()
	return s.Runtime.Targets(ctx, id, first, last)
}

// Attempts implements [store.Common].
func (s *sharing) Attempts(ctx context.Context, id uuid.UUID, limit int) ([]store.Attempt, error) {
	defer s.call(ctx)()
	return s.Runtime.Attempts(ctx, id, limit)
}

// Events implements [store.Common].
func (s *sharing) Events(ctx context.Context, id uuid.UUID, limit int) ([]store.Event, error) {
	defer s.call(ctx)()
	return s.Runtime.Events(ctx, id, limit)
}

// Processes implements [store.Common].
func (s *sharing) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	defer s.call(ctx)()
	return s.Runtime.Processes(ctx, since)
}

// Children implements [store.Common].
func (s *sharing) Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error) {
	defer s.call(ctx)()
	return s.Runtime.Children(ctx, parent, after, limit, states)
}

// CountChildren implements [store.Common].
func (s *sharing) CountChildren(ctx context.Context, parent uuid.UUID) (store.ChildCounts, error) {
	defer s.call(ctx)()
	return s.Runtime.CountChildren(ctx, parent)
}

// FailedChild implements [store.Common].
func (s *sharing) FailedChild(ctx context.Context, parent uuid.UUID) (store.ChildTask, error) {
	defer s.call(ctx)()
	return s.Runtime.FailedChild(ctx, parent)
}

// Family implements [store.Common].
func (s *sharing) Family(ctx context.Context, l store.Lease) (store.Family, error) {
	defer s.call(ctx)()
	return s.Runtime.Family(ctx, l)
}

// WakeParents implements [store.Common].
func (s *sharing) WakeParents(ctx context.Context, parents []uuid.UUID) ([]uuid.UUID, error) {
	defer s.call(ctx)()
	return s.Runtime.WakeParents(ctx, parents)
}

// PassOn implements [store.Common].
func (s *sharing) PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error) {
	defer s.call(ctx)()
	return s.Runtime.PassOn(ctx, parents, limit)
}

// PruneEvents implements [store.Common].
func (s *sharing) PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (int, error) {
	defer s.call(ctx)()
	return s.Runtime.PruneEvents(ctx, olderThan, limit)
}
