package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Claim implements [store.Store].
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claims, error) {
	found := store.Claims{Next: -1}
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return found, ctx.Err()
	}
	if err := s.enter(ctx); err != nil {
		return store.Claims{}, err
	}
	defer s.mu.Unlock()
	if !s.live(c.Process) {
		return found, nil
	}
	now := s.now()
	var due []*row
	for _, id := range s.order {
		r := s.tasks[id]
		if r.Status != workflow.Queued || r.Control == workflow.Pause || !slices.Contains(c.Queues, r.Queue) {
			continue
		}
		if c.Requested && r.Control != workflow.Stop && r.Control != workflow.Delete {
			continue
		}
		if wait := r.NotBefore.Sub(now); wait > 0 && !c.Requested {
			if found.Next < 0 || wait < found.Next {
				found.Next = wait
			}
			continue
		}
		if slices.Contains(c.Kinds[r.Kind], r.Revision) && !r.locked() {
			due = append(due, r)
		}
	}
	slices.SortStableFunc(due, func(a, b *row) int {
		if c.Requested {
			return cmp.Or(cmp.Compare(a.Control, b.Control), compareIDs(a.ID, b.ID))
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.NotBefore.Compare(b.NotBefore), compareIDs(a.ID, b.ID))
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
		t.Status, t.Desc, t.Scheduled, t.Started, t.Process = workflow.Scheduling, "", new(now), nil, c.Process
		t.Fence, t.Attempts, t.Stalled = t.Fence+1, t.Attempts+1, false
		if err := s.change(commit, "Claim", r, &t); err != nil {
			return store.Claims{}, err
		}
		found.Tasks = append(found.Tasks, claimed(&t, stalled, c.SpecMax))
	}
	return found, nil
}

// rank is stalled before new, then by priority.
func rank(r *row) int {
	if r.Stalled {
		return r.Priority
	}
	return 4 + r.Priority
}

func claimed(t *store.Task, stalled bool, specMax int) store.Claimed {
	c := store.Claimed{
		Hold: store.Hold{ID: t.ID, Fence: t.Fence, Seq: t.Seq}, Kind: t.Kind, Revision: t.Revision,
		SpecRevision: cmp.Or(t.SpecRevision, t.Revision), Queue: t.Queue,
		Owner: t.Owner, RunAs: t.RunAs, State: slices.Clone(t.State), Attempts: t.Attempts, Stalled: stalled,
		Control: t.Control, Progress: t.Progress, Created: t.Created, Traceparent: t.Traceparent,
	}
	if len(t.Spec) > specMax {
		c.SpecOmitted = true
	} else {
		c.Spec = slices.Clone(t.Spec)
	}
	return c
}

// Waiting implements [store.Store].
func (s *Store) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	now := s.now()
	for _, id := range s.order {
		r := s.tasks[id]
		if r.Status == workflow.Queued && r.Control != workflow.Pause && slices.Contains(c.Queues, r.Queue) &&
			(c.Requested && (r.Control == workflow.Stop || r.Control == workflow.Delete) || !c.Requested && !r.NotBefore.After(now)) &&
			slices.Contains(c.Kinds[r.Kind], r.Revision) {
			return true, nil
		}
	}
	return false, nil
}

// Spec implements [store.Store].
func (s *Store) Spec(ctx context.Context, id uuid.UUID) (json.RawMessage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	return slices.Clone(r.Spec), nil
}

// Positions implements [store.Store].
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
			Hold: store.Hold{ID: id, Fence: r.Fence, Seq: r.Seq}, Status: r.Status, Control: r.Control, Process: r.Process,
			State: slices.Clone(r.State), Attempts: r.Attempts, Progress: r.Progress,
		}
	}
	return at, nil
}

// Unstarted implements [store.Store].
func (s *Store) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, id := range s.order {
		if r := s.tasks[id]; r.Status == workflow.Scheduling && r.Process == process {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	return s.Positions(ctx, ids)
}

// Watch implements [store.Store]: it calls wake for every submission that asked
// for it, and for requests that make a task claimable.
func (s *Store) Watch(ctx context.Context, ready, wake func()) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	n := s.watched
	s.watched++
	s.watchers[n] = wake
	s.mu.Unlock()
	ready()
	wake()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.watchers, n)
	s.mu.Unlock()
	return ctx.Err()
}

// hint wakes the watchers. They must not call the store.
func (s *Store) hint() {
	for n := range s.watched {
		if wake := s.watchers[n]; wake != nil {
			wake()
		}
	}
}

// Reap implements [store.Store].
func (s *Store) Reap(ctx context.Context) (store.Reaped, error) {
	if err := s.enter(ctx); err != nil {
		return store.Reaped{}, err
	}
	defer s.mu.Unlock()
	commit := s.commit()
	var r store.Reaped
	var err error
	r.Dead, r.Released, err = s.release(commit)
	if err != nil {
		return store.Reaped{}, err
	}
	r.Settled, err = s.settle(commit)
	return r, err
}

// release declares silent processes dead and releases every task in flight that
// no live process holds.
func (s *Store) release(commit int64) (dead []string, released []uuid.UUID, err error) {
	for id, p := range s.procs {
		if p.Ended == nil && s.silent(p) {
			s.endProcess(p, "silent for longer than it said it may be")
			dead = append(dead, id)
		}
	}
	slices.Sort(dead)
	for _, id := range s.order {
		r := s.tasks[id]
		if !r.Status.InFlight() || s.live(r.Process) || r.locked() {
			continue
		}
		t := r.Task
		if t.Status == workflow.Scheduling && t.Attempts > 1 {
			t.Attempts--
		}
		t.Status, t.Process, t.Stalled, t.NotBefore, t.Reason = workflow.Queued, "", true, s.now(), "its worker was lost"
		if err := s.change(commit, "Reap", r, &t); err != nil {
			return nil, nil, err
		}
		released = append(released, id)
	}
	return dead, released, nil
}

// settle does what was asked of tasks and what no worker will do.
func (s *Store) settle(commit int64) (settled []uuid.UUID, err error) {
	for _, id := range slices.Clone(s.order) {
		r := s.tasks[id]
		if r.locked() {
			continue
		}
		unattended := r.Status == workflow.Queued && (r.Fence == 0 || !s.known(&r.Task))
		switch {
		case r.Control == workflow.Delete && (r.Status.Terminal() || unattended):
			s.remove(commit, "Reap", r)
		case r.Control == workflow.Stop && unattended:
			t := r.Task
			t.Status, t.Stopped, t.Desc = workflow.Completed, new(s.now()), "stopped while no worker was there for it"
			if err := s.change(commit, "Reap", r, &t); err != nil {
				return settled, err
			}
		default:
			continue
		}
		settled = append(settled, id)
	}
	return settled, nil
}

// soon is a time that is not before now.
func (s *Store) soon(d time.Duration) time.Time {
	return s.now().Add(max(d.Truncate(time.Millisecond), 0))
}
