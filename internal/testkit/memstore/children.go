package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// family is what a task that has children has beside its row.
type family struct {
	wait         store.Wait // for what it waits, or has waited last
	fence, seq   int64      // of the wait
	waits, retry bool
	memo         json.RawMessage
}

// forever is from when on a task is due at [store.Forever].
var forever = store.Forever.AddDate(-1, 0, 1)

// children are the rows of the children of a task, in the order of their ids.
func (s *Store) children(parent uuid.UUID) (rows []*row) {
	for _, id := range s.order {
		if r := s.tasks[id]; r.Parent == parent {
			rows = append(rows, r)
		}
	}
	return rows
}

// family returns what a task has of its children beside its row, which it makes if need be.
func (s *Store) family(id uuid.UUID) *family {
	f := s.families[id]
	if f == nil {
		f = &family{fence: -1, seq: -1, wait: store.Wait{OnFailure: store.FailureContinues}}
		s.families[id] = f
	}
	return f
}

// countChildren returns how many children of a task are open, and how many have failed.
func (s *Store) countChildren(parent uuid.UUID) (open, failed int64) {
	for _, r := range s.children(parent) {
		switch {
		case r.Status.Live():
			open++
		case failedStatus(r.Status):
			failed++
		}
	}
	return open, failed
}

func failedStatus(s lifecycle.Status) bool { return s == lifecycle.Failure || s == lifecycle.Error }

// hasOpenChildren reports whether a child of a task is open.
func (s *Store) hasOpenChildren(id uuid.UUID) bool {
	open, _ := s.countChildren(id)
	return open > 0
}

// keepsOpen reports whether open children keep a write from being applied.
func (s *Store) keepsOpen(w *store.Write) bool {
	return w.HasChildren && w.To.Terminal() && s.hasOpenChildren(w.ID)
}

// requests makes the request of a write itself, if the task can take it, on the row before it. It reports whether it did.
func requests(w *store.Write, t *Task) bool {
	switch {
	case w.Whole != uuid.Nil:
		return false
	case w.Stop != "" && lifecycle.TakesStop(t.Control):
		t.Row = t.Stop(w.Stop)
	case w.Stop == "" && w.Pause != "" && lifecycle.TakesPause(t.Control, t.ControlReason):
		t.Row = t.Pause(w.Pause)
	default:
		return false
	}
	return true
}

// recordParent stores the Wait, Memo and HasChildren of a write.
func (s *Store) recordParent(w *store.Write) {
	if w.Wait != nil {
		f := s.family(w.ID)
		total := f.wait.Total
		if w.Checkpoint {
			total = w.Wait.Total
		}
		f.wait, f.waits, f.fence, f.seq = *w.Wait, true, w.Fence, w.Seq
		if w.Checkpoint {
			f.seq++
		}
		f.wait.Total = total
		if w.Wait.Ending != nil {
			ending := *w.Wait.Ending
			f.wait.Ending = &ending
		}
	}
	if w.Memo != nil && (w.Checkpoint || w.Wait != nil) {
		s.family(w.ID).memo = slices.Clone(w.Memo)
	}
	switch {
	case w.HasChildren && w.To.Terminal():
		if f := s.families[w.ID]; f != nil && w.To == lifecycle.Completed && w.Checkpoint {
			f.wait.Total = max(f.wait.Total, 0) // all children are there
		}
		s.endWait(w.ID)
	case w.HasChildren:
		s.family(w.ID).waits = true
	}
}

// endWait records that a task has ended, which has waited perhaps.
func (s *Store) endWait(id uuid.UUID) {
	if f := s.families[id]; f != nil {
		f.waits = false
	}
}

// Family implements [store.Common].
func (s *Store) Family(ctx context.Context, l store.Lease) (found store.Family, err error) {
	if err := s.enter(ctx); err != nil {
		return store.Family{}, err
	}
	defer s.mu.Unlock()
	found.Open, found.Failed = s.countChildren(l.ID)
	f := s.families[l.ID]
	if f == nil {
		return found, nil
	}
	found.Retry, found.Memo = f.retry, slices.Clone(f.memo)
	if f.wait.Ending != nil {
		ending := *f.wait.Ending
		found.Ending = &ending
	}
	if f.waits && f.seq == l.Seq {
		w := f.wait
		w.Ending, w.Ends = found.Ending, false // that is not stored
		found.Wait = &w
	}
	return found, nil
}

// Children implements [store.Common].
func (s *Store) Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) (found []store.ChildTask, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, r := range s.children(parent) {
		if compareIDs(r.ID, after) <= 0 {
			continue
		}
		if len(found) == limit {
			break
		}
		found = append(found, s.childTask(r, states))
	}
	return found, nil
}

// ChildrenHaving implements [store.Reader].
func (s *Store) ChildrenHaving(ctx context.Context, parent, after uuid.UUID, limit int, outcome store.Outcome) (found []store.ChildTask, err error) {
	all, err := s.Children(ctx, parent, after, math.MaxInt, false)
	for _, c := range all {
		p := c.Progress
		has := map[store.Outcome]bool{
			store.ItemFailed: p.Failed > 0, store.ItemSkipped: p.Skipped > 0, store.ItemSucceeded: p.Done > 0,
			store.ItemDeferred:    p.Deferred || p.Round > 0,
			store.ItemUnprocessed: c.Status != lifecycle.Completed || c.Partial,
		}
		if len(found) < limit && (has[outcome] || c.HasChildren) {
			found = append(found, c)
		}
	}
	return found, err
}

// CountChildren implements [store.Common].
func (s *Store) CountChildren(ctx context.Context, parents []uuid.UUID) (map[uuid.UUID]store.ChildCounts, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	counts := make(map[uuid.UUID]store.ChildCounts)
	for _, id := range parents {
		if c := s.sumOfChildren(id); c.Statuses != nil {
			counts[id] = c
		}
	}
	return counts, nil
}

// sumOfChildren counts the children of a task. Of those that have children these are counted.
func (s *Store) sumOfChildren(parent uuid.UUID) (counts store.ChildCounts) {
	if f := s.families[parent]; f != nil {
		counts.Total = f.wait.Total
	}
	for _, r := range s.children(parent) {
		counts.Fences += r.Fence
		if r.Partial {
			counts.Stopped++
		}
		p, unknown := r.Progress, int64(0)
		if s.families[r.ID] != nil {
			if below := s.sumOfChildren(r.ID); below.Statuses != nil {
				if p = below.Progress(); p.Total < 0 {
					p.Total, unknown = below.Items.Total, 1
				}
				if below.Running > 0 && !r.Status.InFlight() {
					counts.Running++
				}
			}
		}
		if p.Total < 0 {
			unknown = 1
		}
		counts.Add(r.Status, 1, p, unknown)
	}
	return counts
}

// FailedChild implements [store.Common].
func (s *Store) FailedChild(ctx context.Context, parent uuid.UUID) (store.ChildTask, error) {
	if err := s.enter(ctx); err != nil {
		return store.ChildTask{}, err
	}
	defer s.mu.Unlock()
	for _, r := range s.children(parent) {
		if failedStatus(r.Status) {
			return s.childTask(r, false), nil
		}
	}
	return store.ChildTask{}, store.ErrNotFound
}

// childTask is a child as its parent reads it.
func (s *Store) childTask(r *row, state bool) store.ChildTask {
	c := store.ChildTask{
		ID: r.ID, Kind: r.Kind, Status: r.Status, Partial: r.Partial, StatusDetail: r.Desc,
		Revision: r.Revision, Progress: r.Progress, Started: r.FirstStarted, Stopped: r.Stopped,
	}
	if state {
		c.State = slices.Clone(r.State)
	}
	if of := s.options(r.ID).Child; of != nil {
		c.Child = *of
	}
	return c
}

// WakeParents implements [store.Common].
func (s *Store) WakeParents(ctx context.Context, parents []uuid.UUID) (woken []uuid.UUID, err error) {
	if len(parents) == 0 {
		return nil, nil
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("wake %d parents: %w", len(parents), err)
	}
	defer s.mu.Unlock()
	over := s.over(parents)
	for i := slices.IndexFunc(over, written); i >= 0; i = slices.IndexFunc(over, written) {
		if err := s.await(ctx, over[i]); err != nil {
			return nil, fmt.Errorf("wake %d parents: %w", len(parents), err)
		}
		over = s.over(parents)
	}
	if len(over) == 0 {
		return nil, nil
	}
	commit := s.commit()
	for _, r := range over {
		t := r.Task
		t.Row = t.Wake(s.now(), lifecycle.ReasonChildrenEnded)
		if err := s.change(commit, "WakeParents", r, &t); err != nil {
			return nil, err
		}
		woken = append(woken, r.ID)
	}
	s.wake()
	return woken, nil
}

// written reports whether a batch has written the row and not yet committed.
func written(r *row) bool { return r.writer != nil }

// over returns the tasks whose wait is over.
func (s *Store) over(parents []uuid.UUID) (over []*row) {
	for _, id := range distinct(parents) {
		r, f := s.tasks[id], s.families[id]
		if r == nil || f == nil || !f.waits || f.fence != r.Fence || f.seq != r.Seq || r.Status != lifecycle.Queued ||
			r.WaitingReason != lifecycle.ReasonChildren && r.WaitingReason != lifecycle.ReasonEndingChildren {
			continue
		}
		open, failed := s.countChildren(id)
		if open <= f.wait.OpenAtMost || f.wait.OnFailure == store.FailurePauses && failed > f.wait.Seen {
			over = append(over, r)
		}
	}
	return over
}

// distinct returns ids in their order, each once.
func distinct(ids []uuid.UUID) []uuid.UUID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// RetryChildren implements [store.Sessions].
func (s *Store) RetryChildren(ctx context.Context, l store.Lease, limit int) (retried int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, fmt.Errorf("retry the failed children of task %s: %w", l.ID, err)
	}
	defer s.mu.Unlock()
	var failed []*row
	for {
		r := s.tasks[l.ID]
		if r == nil || !r.LeasedTo(l.Fence, l.Seq) {
			return 0, fmt.Errorf("retry the failed children of task %s: %w", l.ID, store.ErrLost)
		}
		failed = s.retriable(l.ID, limit)
		i := slices.IndexFunc(append([]*row{r}, failed...), written)
		if i < 0 {
			break
		}
		if err := s.await(ctx, append([]*row{r}, failed...)[i]); err != nil {
			return 0, fmt.Errorf("retry the failed children of task %s: %w", l.ID, err)
		}
	}
	change, err := lifecycle.Decide(lifecycle.Found{Status: lifecycle.Failure}, lifecycle.ActRetry)
	if err != nil {
		return 0, err
	}
	commit := s.commit()
	for _, r := range failed {
		t := r.Task
		t.Row, _ = t.Request(change, uuid.Nil, "", s.now())
		s.addEvent(r, lifecycle.ActRetry, uuid.Nil)
		if err := s.change(commit, "RetryChildren", r, &t); err != nil {
			return 0, err
		}
		s.markRetry(r.ID)
	}
	if f := s.families[l.ID]; f != nil && len(failed) < limit {
		f.retry = false
	}
	if len(failed) > 0 {
		s.wake()
	}
	return len(failed), nil
}

// retriable are at most limit failed children of a task that may be retried: what continues
// one, or has its unique key, forbids it. Of failed ones with the same key it is the last.
func (s *Store) retriable(parent uuid.UUID, limit int) (failed []*row) {
	all := s.children(parent)
	for i, r := range all {
		newer := func(o *row) bool { return failedStatus(o.Status) && o.Kind == r.Kind && o.UniqueKey == r.UniqueKey }
		if len(failed) == limit || !failedStatus(r.Status) || r.Control == lifecycle.Delete ||
			s.taken(&r.Task, "idempotency_key", store.ContinuationKey(r.ID), nil) != nil ||
			s.taken(&r.Task, "unique_key", r.UniqueKey, nil) != nil ||
			r.UniqueKey != "" && slices.ContainsFunc(all[i+1:], newer) {
			continue
		}
		failed = append(failed, r)
	}
	return failed
}

// markRetry records, with the retry of a task, that its failed children are to be retried.
// What the task has waited for counts again.
func (s *Store) markRetry(id uuid.UUID) {
	if len(s.children(id)) > 0 {
		f := s.family(id)
		f.retry, f.waits, f.wait.Ending = true, f.seq >= 0, nil
	}
}

// addEvent records a request that was passed on to a child, whose row has not changed yet.
func (s *Store) addEvent(r *row, a lifecycle.Action, actor uuid.UUID) {
	s.events = append(s.events, event{task: r.ID, Event: store.Event{
		Created: s.now(), Action: string(a), Actor: actor, Reason: lifecycle.ReasonParent, FromStatus: r.Status,
	}})
}
