package memstore

import (
	"context"
	"slices"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// ExpireTasks implements [store.Upkeep].
func (s *Store) ExpireTasks(ctx context.Context, process string, limit int, items int64) (e store.Expired, err error) {
	if err := s.enter(ctx); err != nil {
		return e, err
	}
	defer s.mu.Unlock()
	var (
		now, commit = s.now(), s.commit()
		recorded    int64
	)
	for _, id := range slices.Clone(s.order) {
		r, p := s.tasks[id], s.plans[id]
		if p == nil || r.locked() {
			continue
		}
		t := store.ExpiringTask{ID: id, Options: p.options, Status: r.Status, Begun: r.Seq > 0, Items: r.Progress.Failed + r.Progress.Skipped}
		if r.Stopped != nil {
			t.Stopped = *r.Stopped
		}
		fail, remove, _ := t.Decide(now)
		switch {
		case fail == "" && !remove:
			continue
		case len(e.Failed)+len(e.Removed) == limit || recorded > 0 && recorded+t.Items > items:
			e.More = true
			return e, nil
		case remove && !s.hasUnfinishedParent(r):
			recorded += t.Items
			s.remove(commit, "ExpireTasks", r)
			e.Removed = append(e.Removed, id)
		case fail != "" && s.mayExpire(r, process):
			after, attempts := r.Task, r.Attempts
			after.Row = after.Row.Claim(process, now)
			after.Attempts = attempts
			if err := s.change(commit, "ExpireTasks", r, &after); err != nil {
				return e, err
			}
			after.Row, _ = after.Row.Write(lifecycle.Write{To: lifecycle.Failure, Attempts: attempts, Desc: fail}, now)
			if err := s.change(commit, "ExpireTasks", r, &after); err != nil {
				return e, err
			}
			s.endWait(id)
			e.Failed = append(e.Failed, id)
		}
	}
	return e, nil
}

// mayExpire reports whether a task may be ended that no worker ends.
func (s *Store) mayExpire(r *row, process string) bool {
	known := false
	for _, p := range s.procs {
		known = known || p.Ended == nil && !p.SafeMode && slices.Contains(p.Queues, r.Queue) && slices.Contains(p.Kinds[r.Kind], r.Revision)
	}
	return r.Control == lifecycle.None && (r.Fence == 0 || !known) && !s.hasOpenChildren(r.ID) && s.running(process)
}
