package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// listed is the length of a list when no limit is given.
const listed = 100

func limit(n int) int {
	if n <= 0 {
		return listed
	}
	return n
}

// read returns a row as a reader sees it.
func (s *Store) read(r *row) store.Task {
	now := s.now()
	t := store.Task{
		Submitted: r.Submitted, ID: r.ID, Created: r.Created, Modified: r.Modified, CreatedBy: r.CreatedBy, ModifiedBy: r.ModifiedBy,
		Spec: slices.Clone(r.Spec), State: slices.Clone(r.State),
		Revision: r.Revision, SpecRevision: r.SpecRevision, Secrets: r.Secrets, Status: r.Status, StatusDetail: r.Desc,
		Scheduled: r.Scheduled, Started: r.FirstStarted, LeaseStarted: r.Started, Stopped: r.Stopped, Process: r.Process,
		Fence: r.Fence, Seq: r.Seq, Attempts: r.Attempts, NotBefore: r.NotBefore, Priority: r.Priority, Stalled: r.Stalled,
		Control: r.Control, Partial: r.Partial, ControlBy: r.ControlBy, ControlReason: r.ControlReason, Progress: r.Progress,
	}
	t.HasChildren = len(s.children(r.ID)) > 0
	if p := s.plans[r.ID]; p != nil {
		t.Spec, t.Preview = s.spec(r), p.options.Preview
		if f := s.finding(r.ID); f != nil {
			found := f.Total
			t.Found = &found
		}
	}
	if r.Status == lifecycle.Queued {
		t.WaitingReason = r.WaitingReason
	}
	t.Wait, t.Elapsed = t.NotBefore.Sub(now), now.Sub(t.Created)
	if t.Stopped != nil {
		t.Elapsed = t.Stopped.Sub(t.Created)
	}
	if result := s.results[r.ID]; result != nil && t.Status == lifecycle.Completed {
		t.ResultErased = result.text == nil
		if !result.expiry.IsZero() {
			expiry := result.expiry
			t.ResultExpires = &expiry
		}
	}
	return t
}

// Task implements [store.Reader].
func (s *Store) Task(ctx context.Context, id uuid.UUID) (store.Task, error) {
	if err := s.enter(ctx); err != nil {
		return store.Task{}, err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return store.Task{}, store.ErrNotFound
	}
	return s.read(r), nil
}

// Tasks implements [store.Reader].
func (s *Store) Tasks(ctx context.Context, f store.Filter) (ts []store.Task, next uuid.UUID, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, uuid.Nil, err
	}
	defer s.mu.Unlock()
	above := s.inFlightAndAbove()
	for _, id := range slices.Backward(s.order) {
		r := s.tasks[id]
		if selects(f, &r.Task) && (!f.Running || above[id]) && s.failedSo(r, f) && (!f.Previews || s.isPreview(r.ID)) {
			t := s.read(r)
			t.Spec, t.State, t.Found, t.Preview = nil, nil, nil, f.Previews
			if ts = append(ts, t); len(ts) == limit(f.Limit) {
				return ts, t.ID, nil
			}
		}
	}
	return ts, uuid.Nil, nil
}

// TaskRefs implements [store.Reader].
func (s *Store) TaskRefs(ctx context.Context, f store.Filter) (page []store.TaskRef, next uuid.UUID, err error) {
	tasks, next, err := s.Tasks(ctx, f)
	for _, t := range tasks {
		page = append(page, store.TaskRef{ID: t.ID, Kind: t.Kind, Control: t.Control})
	}
	return page, next, err
}

// inFlightAndAbove returns the tasks in flight and all above them.
func (s *Store) inFlightAndAbove() map[uuid.UUID]bool {
	found := map[uuid.UUID]bool{}
	for _, r := range s.tasks {
		for r != nil && (r.Status.InFlight() || found[r.ID]) {
			found[r.ID], found[r.Parent] = true, true
			r = s.tasks[r.Parent]
		}
	}
	return found
}

func (s *Store) isPreview(id uuid.UUID) bool {
	p := s.plans[id]
	return p != nil && p.options.Preview
}

// selects reports whether the row of a task meets a filter.
func selects(f store.Filter, t *Task) bool {
	switch {
	case len(f.IDs) > 0 && !slices.Contains(f.IDs, t.ID),
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, t.Kind),
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, t.Status),
		f.Owner != uuid.Nil && f.Owner != t.Owner,
		f.Queue != "" && f.Queue != t.Queue,
		f.Reference != "" && f.Reference != t.Reference,
		f.UniqueKey != "" && f.UniqueKey != t.UniqueKey,
		f.Parent != uuid.Nil && f.Parent != t.Parent,
		f.Follows != uuid.Nil && f.Follows != t.Follows,
		f.Roots && t.Parent != uuid.Nil,
		f.Paused && t.Control != lifecycle.Pause,
		f.Approval && (t.Status != lifecycle.Queued || t.Control != lifecycle.Pause || !strings.HasPrefix(t.ControlReason, lifecycle.ReasonApproval)),
		f.Before != uuid.Nil && compareIDs(t.ID, f.Before) >= 0:
		return false
	}
	return true
}

// Matching implements [store.Reader].
func (s *Store) Matching(ctx context.Context, suffix string, n int) ([]uuid.UUID, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var ids []uuid.UUID
	for i := len(s.order) - 1; i >= max(0, len(s.order)-store.MatchingRead) && len(ids) < limit(n); i-- {
		if strings.HasSuffix(s.order[i].String(), strings.ToLower(suffix)) {
			ids = append(ids, s.order[i])
		}
	}
	return ids, nil
}

// Result implements [store.Reader].
func (s *Store) Result(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	if s.tasks[id] == nil {
		return nil, 0, store.ErrNotFound
	}
	r := s.results[id]
	if r == nil {
		return nil, 0, nil
	}
	if r.text == nil {
		return nil, 0, store.ErrExpired
	}
	return slices.Clone(r.text), r.revision, nil
}

// Fetch implements [store.Reader].
func (s *Store) Fetch(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	text, revision, err := s.Result(ctx, id)
	if text == nil {
		return nil, 0, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	if r := s.results[id]; r != nil && !r.fetched {
		r.fetched, r.expiry = true, expiry(s.now(), r.keep.Fetched)
	}
	return text, revision, nil
}

// Items implements [store.Reader].
func (s *Store) Items(ctx context.Context, id uuid.UUID, outcome store.Outcome, after store.ItemCursor, n int) ([]store.Item, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	items := slices.Clone(s.items[id])
	slices.SortFunc(items, func(a, b store.Item) int { return compareCursors(a.Cursor(), b.Cursor()) })
	items = slices.DeleteFunc(items, func(i store.Item) bool { return i.Outcome != outcome || compareCursors(i.Cursor(), after) <= 0 })
	return items[:min(len(items), limit(n))], nil
}

// FailedItems implements [store.Reader].
func (s *Store) FailedItems(ctx context.Context, from time.Time, before store.FailedItem, n int) ([]store.FailedItem, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	newest := func(a, b store.FailedItem) int { return cmp.Or(b.Created.Compare(a.Created), compareIDs(b.ID, a.ID)) }
	var failed []store.FailedItem
	for id, items := range s.items {
		for i := range items {
			f := store.FailedItem{Task: id, Created: items[i].Created, ID: items[i].ID}
			if items[i].Outcome == store.ItemFailed && !f.Created.Before(from) && newest(before, f) < 0 {
				failed = append(failed, f)
			}
		}
	}
	slices.SortFunc(failed, newest)
	return failed[:min(len(failed), limit(n))], nil
}

// ItemRecords implements [store.Reader].
func (s *Store) ItemRecords(ctx context.Context, key string, age time.Duration, before store.ItemRecord, n int) ([]store.ItemRecord, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if before.Created.IsZero() {
		before.Created = store.Forever
	}
	newest := func(a, b store.ItemRecord) int { return cmp.Or(b.Created.Compare(a.Created), compareIDs(b.ID, a.ID)) }
	var records []store.ItemRecord
	for id, items := range s.items {
		for i := range items {
			r := store.ItemRecord{Item: items[i], Task: id}
			if r.Key == key && newest(before, r) < 0 && (age <= 0 || !r.Created.Before(s.now().Add(-age))) {
				records = append(records, r)
			}
		}
	}
	slices.SortFunc(records, newest)
	return records[:min(len(records), limit(n))], nil
}

func compareCursors(a, b store.ItemCursor) int {
	return cmp.Or(cmp.Compare(a.Position, b.Position), compareIDs(a.ID, b.ID))
}

// Attempts implements [store.Common].
func (s *Store) Attempts(ctx context.Context, id uuid.UUID, n int) ([]store.Attempt, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	as := slices.Clone(s.attempts[id])
	slices.Reverse(as)
	return as[:min(len(as), limit(n))], nil
}

// Events implements [store.Common].
func (s *Store) Events(ctx context.Context, id uuid.UUID, n int) ([]store.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var es []store.Event
	for i := len(s.events) - 1; i >= 0 && len(es) < limit(n); i-- {
		if s.events[i].task == id {
			es = append(es, s.events[i].Event)
		}
	}
	return es, nil
}

// PruneEvents implements [store.Common].
func (s *Store) PruneEvents(ctx context.Context, olderThan time.Duration, n int) (deleted int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	before := s.now().Add(-olderThan)
	s.events = slices.DeleteFunc(s.events, func(e event) bool {
		if deleted == n || !e.Created.Before(before) {
			return false
		}
		deleted++
		return true
	})
	return deleted, nil
}

// failedSo reports whether a task has the code and the age of a filter.
func (s *Store) failedSo(r *row, f store.Filter) bool {
	code, _, _ := strings.Cut(r.Desc, ": ")
	return (f.Code == "" || code == f.Code) && (f.EndedFor <= 0 || r.Stopped != nil && s.now().Sub(*r.Stopped) > f.EndedFor)
}
