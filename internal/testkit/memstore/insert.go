package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Insert stores tasks, all or none, as [store.Insert] does on a database's
// handle. The id of a task that was merged into a waiting one is set to
// that one's.
func (s *Store) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	plans, err := newPlans(tasks)
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("store %d tasks: %w", len(tasks), err)
	}
	defer s.mu.Unlock()
	return s.insertAll(tasks, plans, notify)
}

// newPlans checks new tasks and returns their plans.
func newPlans(tasks []store.NewTask) (plans []*plan, err error) {
	plans = make([]*plan, len(tasks))
	for i := range tasks {
		err := check(&tasks[i])
		if err == nil {
			plans[i], err = newPlan(&tasks[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// insertAll stores tasks, all or none. Its caller has the store's lock.
func (s *Store) insertAll(tasks []store.NewTask, plans []*plan, notify bool) error {
	commit, added, logged := s.commit(), 0, len(s.log)
	s.paused = nil
	versions := maps.Clone(s.versions)
	for i := range tasks {
		if err := s.insert(commit, &tasks[i], plans[i]); err != nil {
			// Nothing of the statement stays. What was replaced comes first in
			// a call of its own, see insert.
			for _, c := range s.log[logged:] {
				s.undo(c)
			}
			s.log, s.versions = s.log[:logged], versions
			return err
		}
		added++
	}
	if notify && added > 0 {
		s.wake()
	}
	if s.paused != nil {
		return s.paused
	}
	return nil
}

// undo takes back a change of this statement.
func (s *Store) undo(c Change) {
	if c.Before != nil {
		s.tasks[c.After.ID].Task = *c.Before
		return
	}
	delete(s.tasks, c.After.ID)
	delete(s.plans, c.After.ID)
	s.order = slices.DeleteFunc(s.order, func(id uuid.UUID) bool { return id == c.After.ID })
}

// check refuses what no database could hold.
func check(n *store.NewTask) error {
	for _, k := range []string{n.Kind, n.Queue, n.Reference, n.UniqueKey, n.IdempotencyKey, n.Traceparent} {
		if !utf8.ValidString(k) || strings.ContainsRune(k, 0) {
			return fmt.Errorf("a name %q holds a NUL byte or is not UTF-8: it cannot be stored", k)
		}
	}
	if n.Delay != 0 && !n.NotBefore.IsZero() {
		return errors.New("a new task has either a time or a delay")
	}
	if n.Version != nil && (n.Reference == "" || *n.Version < 0) {
		return errors.New("a version is of a reference, and not negative")
	}
	if n.Reference != "" && (n.HasPlan() || n.Start.Given()) {
		return errors.New("a task with frozen targets, options or a start has no reference")
	}
	return nil
}

func (s *Store) insert(commit int64, n *store.NewTask, p *plan) (err error) {
	now, actor := s.now(), n.Actor
	if actor == uuid.Nil {
		actor = n.Owner
	}
	t := Task{
		Submitted: n.Submitted, ID: n.ID, Created: now, Modified: now, CreatedBy: actor, ModifiedBy: actor,
		Spec: slices.Clone(n.Spec), Delayed: n.Delayed(),
		Row: lifecycle.Row{
			Status: lifecycle.Queued, State: json.RawMessage("{}"), Revision: n.Revision, SpecRevision: n.Revision, Secrets: n.Secrets,
			NotBefore: now, Priority: n.Priority, Progress: lifecycle.Progress{Total: max(n.Total, -1)},
		},
	}
	t.Reason = classify.Clean(t.Reason)
	t.Progress.Position = n.Start.Position
	if n.Start.State != nil {
		t.State = slices.Clone(n.Start.State)
	}
	if n.Start.SpecRevision != 0 {
		t.SpecRevision = n.Start.SpecRevision
	}
	if p != nil {
		t.Spec = nil
		if reason := p.options.PauseReason(lifecycle.Progress{}); reason != "" {
			t.Row = t.Pause(reason)
		}
		if p.frozen != nil && !p.frozen.Finding {
			t.Progress.Total, n.Total = p.frozen.Total, p.frozen.Total
		}
	}
	switch {
	case n.Delay > 0:
		t.NotBefore = now.Add(n.Delay.Truncate(time.Millisecond))
	case !n.NotBefore.IsZero():
		t.NotBefore = n.NotBefore.UTC()
	}
	if n.Version != nil {
		if newest, ok := s.versions[referenceOf(&t)]; ok && newest.n >= *n.Version {
			if dup := s.taken(&t, "idempotency_key", n.IdempotencyKey, nil); dup != nil {
				return dup
			}
			return &store.SupersededError{Kind: n.Kind, Reference: n.Reference, Version: *n.Version, Newest: newest.n}
		}
	}
	var waiting []*row
	if n.Reference != "" {
		waiting = s.waiting(&t)
	}
	for _, k := range [][2]string{{"idempotency_key", n.IdempotencyKey}, {"unique_key", n.UniqueKey}} {
		if dup := s.taken(&t, k[0], k[1], waiting); dup != nil {
			return dup
		}
	}
	if s.tasks[n.ID] != nil {
		return &store.DuplicateError{Kind: n.Kind, Column: "id", Key: n.ID.String(), ID: n.ID}
	}
	if n.Version != nil {
		defer func() {
			if err == nil {
				s.versions[referenceOf(&t)] = version{n: *n.Version, checked: now}
			}
		}()
	}
	if len(waiting) > 0 {
		return s.merge(commit, n, &t, waiting)
	}
	if p != nil {
		s.plans[n.ID] = p
	}
	return s.add(commit, "Insert", &t)
}

// waiting returns the tasks that wait with the reference of a new one and may be
// replaced, those that were never claimed first.
func (s *Store) waiting(t *Task) []*row {
	var fresh, tried []*row
	for _, id := range s.order {
		r := s.tasks[id]
		switch {
		case r.Kind != t.Kind || r.Reference != t.Reference || r.Delayed != t.Delayed || !r.Coalescible(s.hasFailed(r)):
		case r.Fence == 0:
			fresh = append(fresh, r)
		default:
			tried = append(tried, r)
		}
	}
	return append(fresh, tried...)
}

// hasFailed reports whether an attempt has failed since a task's last checkpoint.
func (s *Store) hasFailed(r *row) bool {
	return slices.ContainsFunc(s.attempts[r.ID], func(a store.Attempt) bool { return a.Seq == r.Seq })
}

// merge merges a new task into those that wait.
func (s *Store) merge(commit int64, n *store.NewTask, t *Task, waiting []*row) error {
	identity := func(t *Task) lifecycle.Identity {
		return lifecycle.Identity{Owner: t.Owner, RunAs: t.RunAs, Queue: t.Queue, UniqueKey: t.UniqueKey}
	}
	for _, r := range waiting {
		if d := identity(&r.Task).Differences(identity(t)); len(d) > 0 {
			return &store.CoalesceError{Kind: t.Kind, Reference: t.Reference, ID: r.ID, Differs: d}
		}
		t.UniqueKey = cmp.Or(r.UniqueKey, t.UniqueKey)
	}
	target, others := waiting[0], waiting[1:]
	n.ID = target.ID
	after := *t
	after.ID, after.Row = target.ID, target.Coalesce(t.Row, n.Version == nil && n.NotBefore.IsZero())
	after.IdempotencyKey, after.MergedKeys = target.IdempotencyKey, target.MergedKeys
	if t.IdempotencyKey != "" {
		after.MergedKeys = append(slices.Clone(target.MergedKeys), t.IdempotencyKey)
	}
	if target.Control == lifecycle.Pause && s.paused == nil {
		s.paused = &store.PausedError{Kind: t.Kind, Reference: t.Reference, ID: target.ID}
	}
	if err := s.change(commit, "Insert", target, &after); err != nil {
		return err
	}
	for _, r := range others {
		ended := r.Task
		ended.Row, ended.ModifiedBy = r.Supersede(target.ID, s.now()), t.ModifiedBy
		if err := s.change(commit, "Insert", r, &ended); err != nil {
			return err
		}
	}
	delete(s.items, target.ID)
	delete(s.rates, target.ID)
	if n.Ledger {
		delete(s.ledgers, target.ID)
	}
	return nil
}

// taken returns the error that another task has a key. That one of the tasks to
// be merged into has the same unique key does not count.
func (s *Store) taken(t *Task, column, key string, merged []*row) error {
	if key == "" {
		return nil
	}
	for _, id := range s.order {
		r := s.tasks[id]
		if r.ID == t.ID || r.Kind != t.Kind {
			continue
		}
		if column == "unique_key" && r.UniqueKey == key && r.Status.Live() && !slices.Contains(merged, r) ||
			column == "idempotency_key" && (r.IdempotencyKey == key || slices.Contains(r.MergedKeys, key)) {
			return &store.DuplicateError{Kind: t.Kind, Column: column, Key: key, ID: id}
		}
	}
	return nil
}
