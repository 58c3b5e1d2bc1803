package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Claim implements [store.Workers].
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	found := store.ClaimResult{Next: -1}
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return found, ctx.Err()
	}
	if err := s.enter(ctx); err != nil {
		return store.ClaimResult{}, err
	}
	defer s.mu.Unlock()
	if !s.running(c.Process) {
		return found, nil
	}
	now := s.now()
	var due []*row
	found.Paused = !c.Requested && slices.ContainsFunc(c.Queues, s.isPaused)
	for _, id := range s.order {
		r := s.tasks[id]
		if !r.Claimable() || !slices.Contains(c.Queues, r.Queue) || c.Requested && (!r.Control.Ends() || !r.NotBefore.Before(forever)) || !c.Requested && s.isPaused(r.Queue) {
			continue
		}
		if !slices.Contains(c.Kinds[r.Kind], r.Revision) {
			continue
		}
		if wait := r.NotBefore.Sub(now); wait > 0 && !c.Requested {
			if found.Next < 0 || wait < found.Next {
				found.Next = wait
			}
			continue
		}
		if !r.locked() {
			due = append(due, r)
		}
	}
	orders := lifecycle.RankOrders(c.TriedFirst)
	order := func(r *row) int { return orders[r.Rank()] }
	slices.SortStableFunc(due, func(a, b *row) int {
		if c.Requested {
			return cmp.Or(cmp.Compare(a.Control, b.Control), compareIDs(a.ID, b.ID))
		}
		return cmp.Or(cmp.Compare(order(a), order(b)), a.NotBefore.Compare(b.NotBefore), compareIDs(a.ID, b.ID))
	})
	if len(due) >= c.Limit {
		due, found.Next = due[:c.Limit], -1
	}
	if c.Requested {
		found.Next = -1
	}
	commit := s.commit()
	for _, r := range due {
		t, stalled := r.Task, r.Stalled
		t.Row = t.Row.Claim(c.Process, now)
		if err := s.change(commit, "Claim", r, &t); err != nil {
			return store.ClaimResult{}, err
		}
		found.Tasks = append(found.Tasks, claimed(&t, stalled, r.revised || s.plans[r.ID] != nil, c))
	}
	return found, nil
}

// claimed is a task as a claim returns it. Planned: its session reads the plan.
func claimed(t *Task, stalled, planned bool, by store.Claim) store.ClaimedTask {
	c := store.ClaimedTask{
		Priority: t.Priority,
		Lease:    store.Lease{ID: t.ID, Fence: t.Fence, Seq: t.Seq}, Kind: t.Kind, Revision: t.Revision,
		SpecRevision: t.SpecRevision, Queue: t.Queue,
		Owner: t.Owner, RunAs: t.RunAs, State: slices.Clone(t.State), Attempts: t.Attempts, Stalled: stalled,
		Control: t.Control, Progress: t.Progress, Created: t.Created,
	}
	if by.Requested {
		c.Priority = lifecycle.HighestPriority
	}
	if !planned && len(t.Spec) <= by.SpecMax {
		c.Spec = slices.Clone(t.Spec)
	}
	return c
}

// Waiting implements [store.Workers].
func (s *Store) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	now := s.now()
	for _, id := range s.order {
		r := s.tasks[id]
		if r.Claimable() && slices.Contains(c.Queues, r.Queue) &&
			(c.Requested && r.Control.Ends() && r.NotBefore.Before(forever) || !c.Requested && !r.NotBefore.After(now) && !s.isPaused(r.Queue)) &&
			slices.Contains(c.Kinds[r.Kind], r.Revision) {
			return true, nil
		}
	}
	return false, nil
}

// WaitingOwners implements [store.Workers].
func (s *Store) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	owners := make(map[uuid.UUID]int)
	for _, id := range s.order {
		r := s.tasks[id]
		if !r.Claimable() || !slices.Contains(c.Queues, r.Queue) || s.isPaused(r.Queue) || r.NotBefore.After(s.now()) || !slices.Contains(c.Kinds[r.Kind], r.Revision) {
			continue
		}
		order := lifecycle.ClaimOrder(r.Stalled, r.Priority, r.Attempts)
		if was, known := owners[r.Owner]; !known || order < was {
			owners[r.Owner] = order
		}
	}
	return owners, nil
}

// Positions implements [store.Sessions].
func (s *Store) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	at := make(map[uuid.UUID]store.Position, len(ids))
	for _, id := range ids {
		r := s.tasks[id]
		if r == nil {
			continue
		}
		at[id] = store.Position{
			Lease: store.Lease{ID: id, Fence: r.Fence, Seq: r.Seq}, Status: r.Status, Control: r.Control, Process: r.Process,
			State: slices.Clone(r.State), Attempts: r.Attempts, Progress: r.Progress,
		}
	}
	return at, nil
}

// Unstarted implements [store.Workers].
func (s *Store) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, id := range s.order {
		if r := s.tasks[id]; r.Status == lifecycle.Scheduling && r.Process == process {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	return s.Positions(ctx, ids)
}

// Watch implements [store.Workers]: it calls wake for every submission that asked
// for it, and for requests that make a task claimable. If the cause of the end of ctx is
// [ErrGone] the process has not noticed that it has lost its presence lock.
func (s *Store) Watch(ctx context.Context, process string, w store.Watcher) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	n := s.watched
	s.watched++
	s.watchers[n] = w
	lock, alive := s.takePresence(process)
	s.mu.Unlock()
	w.Ready()
	w.Wake()
	if alive {
		w.Present(nil)
		<-ctx.Done()
	}
	s.mu.Lock()
	delete(s.watchers, n)
	s.freePresence(process, lock, context.Cause(ctx))
	s.mu.Unlock()
	if !alive {
		return store.ErrDead
	}
	return ctx.Err()
}

// wake wakes the watchers. They must not call the store.
func (s *Store) wake() {
	for n := range s.watched {
		if w, ok := s.watchers[n]; ok {
			w.Wake()
		}
	}
}

// Reap implements [store.Upkeep].
func (s *Store) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	r, err := s.reap(ctx, absent)
	if err == nil {
		err = s.reapParents(ctx, &r)
	}
	return r, err
}

// reap takes back what dead processes had, and acts on requests.
func (s *Store) reap(ctx context.Context, absent []int64) (r store.Reaped, err error) {
	if err := s.enter(ctx); err != nil {
		return store.Reaped{}, err
	}
	defer s.mu.Unlock()
	commit := s.commit()
	r.Dead, r.Released, err = s.release(commit, absent)
	if err != nil {
		return store.Reaped{}, err
	}
	r.Ended, err = s.applyRequests(commit)
	r.Woken = s.wakeWaiting(commit, slices.Collect(maps.Keys(s.limits.tasks)))
	return r, err
}

// release declares silent and absent processes dead and releases every task in flight that
// no running process has.
func (s *Store) release(commit int64, absent []int64) (dead []string, released []uuid.UUID, err error) {
	for id, p := range s.procs {
		switch {
		case p.Ended != nil:
		case s.silent(p):
			s.endProcess(p, store.EndedSilent)
			dead = append(dead, id)
		case slices.Contains(absent, p.Lock) && s.longAbsent(p):
			s.endProcess(p, store.EndedAbsent)
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	for _, id := range s.order {
		r := s.tasks[id]
		if !r.Status.InFlight() || s.running(r.Process) || r.locked() {
			continue
		}
		t := r.Task
		lost := event{task: id, Event: store.Event{
			Created: s.now(), Action: string(lifecycle.ActLost), FromStatus: t.Status, Worker: t.Process,
			Reason: store.LostReason(t.Progress.Done+t.Progress.Failed+t.Progress.Skipped, s.lastHeartbeat(t.Process), s.now()),
		}}
		t.Row = t.ReleaseAsLost(s.now())
		if err := s.change(commit, "Reap", r, &t); err != nil {
			return nil, nil, err
		}
		s.events = append(s.events, lost)
		released = append(released, id)
	}
	return dead, released, nil
}

// applyRequests acts on the requests that no worker will act on.
func (s *Store) applyRequests(commit int64) (ended []uuid.UUID, err error) {
	for _, id := range slices.Clone(s.order) {
		r := s.tasks[id]
		if r == nil || r.locked() || !r.Control.Ends() { // nil: removed with its parent
			continue
		}
		f := s.found(&r.Task)
		f.MustFail = r.ControlReason == lifecycle.ReasonParent // else it would have ended with the request
		c := lifecycle.DecideUnattended(f)
		if c.Effect == lifecycle.Unchanged {
			continue
		}
		t := r.Task
		var exists bool
		if t.Row, exists = t.Request(c, t.ControlBy, t.ControlReason, s.now()); !exists {
			s.removeWithChildren(commit, "Reap", r)
		} else if err := s.change(commit, "Reap", r, &t); err != nil {
			return ended, err
		}
		if c.Effect == lifecycle.Ended {
			s.endWait(id)
		}
		ended = append(ended, id)
	}
	return ended, nil
}
