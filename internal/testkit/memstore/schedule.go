package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// schedule is the row of a schedule.
type schedule struct {
	store.Schedule
	due time.Time // zero: never
}

// reckon sets when the schedule is due.
func (r *schedule) reckon(now time.Time) {
	r.due = r.NextAt
	switch {
	case r.Triggered:
		r.due = now
	case r.Paused:
		r.due = time.Time{}
	case len(r.Overdue) > 0 || r.Buffered != "":
		r.due = now
	}
}

// Schedule implements [store.Ops].
func (s *Store) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	if err := s.enter(ctx); err != nil {
		return store.Schedule{}, err
	}
	defer s.mu.Unlock()
	r := s.schedules[name]
	if r == nil {
		return store.Schedule{}, fmt.Errorf("read the schedule %q: %w", name, store.ErrNoSchedule)
	}
	return r.Schedule, nil
}

// ListSchedules implements [store.Ops].
func (s *Store) ListSchedules(ctx context.Context, after string, n int) (all []store.Schedule, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.schedules)) {
		if name > after && len(all) < limit(n) {
			all = append(all, s.schedules[name].Schedule)
		}
	}
	return all, nil
}

// ChangeSchedule implements [store.Requests].
func (s *Store) ChangeSchedule(ctx context.Context, name string, change func(now time.Time, s *store.Schedule) error) (store.Schedule, error) {
	if err := s.enter(ctx); err != nil {
		return store.Schedule{}, err
	}
	defer s.mu.Unlock()
	now := s.now()
	before := store.Schedule{Name: name}
	if r := s.schedules[name]; r != nil {
		before = r.Schedule
	}
	after := before
	if err := change(now, &after); err != nil {
		return store.Schedule{}, err
	}
	reason := after.ChangeReason
	if after.ChangeReason = ""; reflect.DeepEqual(before, after) {
		return after, nil
	}
	recorded, err := store.ScheduleChange(&before, &after, after.ModifiedBy, reason)
	if err != nil {
		return store.Schedule{}, err
	}
	if before.Version == 0 {
		after.ID, after.Created, after.CreatedBy = store.NewID(), now, after.ModifiedBy
	}
	after.Version, after.Modified = before.Version+1, now
	after.Overlap = cmp.Or(after.Overlap, "allow")
	after.PauseReason, after.TriggerReason = classify.Clean(after.PauseReason), classify.Clean(after.TriggerReason)
	r := &schedule{Schedule: after}
	r.reckon(now)
	s.commit()
	s.schedules[name] = r
	s.recordSetting(recorded)
	return after, nil
}

// DeleteSchedule implements [store.Requests].
func (s *Store) DeleteSchedule(ctx context.Context, name string, by uuid.UUID, reason string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.schedules[name]
	if r == nil {
		return fmt.Errorf("delete the schedule %q: %w", name, store.ErrNoSchedule)
	}
	recorded, err := store.ScheduleChange(&r.Schedule, new(store.Schedule), by, reason)
	if err != nil {
		return err
	}
	delete(s.schedules, name)
	s.recordSetting(recorded)
	return nil
}

// DueSchedules implements [store.Upkeep].
func (s *Store) DueSchedules(ctx context.Context, p store.DueSchedules) (store.SchedulesFound, error) {
	found := store.SchedulesFound{Next: -1}
	if err := s.enter(ctx); err != nil {
		return found, err
	}
	defer s.mu.Unlock()
	found.Now = s.now()
	var due []*schedule
	for _, r := range s.schedules {
		if r.due.IsZero() || !slices.Contains(p.Kinds[r.Kind], r.Revision) {
			continue
		}
		switch wait := r.due.Sub(found.Now); {
		case wait <= 0:
			due = append(due, r)
		case found.Next < 0 || wait < found.Next:
			found.Next = wait
		}
	}
	slices.SortFunc(due, func(a, b *schedule) int { return cmp.Or(a.due.Compare(b.due), compareIDs(a.ID, b.ID)) })
	due = due[min(p.Skip, len(due)):]
	if len(due) >= p.Limit {
		due, found.Next = due[:p.Limit], -1
	}
	for _, r := range due {
		d := r.Schedule
		if last := s.tasks[d.LastTask]; last != nil {
			d.LastOpen = last.Status.Live()
		}
		found.Due = append(found.Due, d)
	}
	return found, nil
}

// FireSchedule implements [store.Upkeep].
func (s *Store) FireSchedule(ctx context.Context, f store.ScheduleFire) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	return s.fire(f)
}

// FireSchedules implements [store.Upkeep].
func (s *Store) FireSchedules(ctx context.Context, fires []store.ScheduleFire) ([]bool, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	fired := make([]bool, len(fires))
	for i := range fires {
		for _, n := range fires[i].Tasks {
			t := &Task{ID: n.ID, Submitted: n.Submitted}
			if err := errors.Join(s.taken(t, "unique_key", n.UniqueKey, nil), s.taken(t, "idempotency_key", n.IdempotencyKey, nil)); err != nil {
				return nil, err
			}
		}
	}
	for i := range fires {
		var err error
		if fired[i], err = s.fire(fires[i]); err != nil {
			return nil, err
		}
	}
	return fired, nil
}

// fire is FireSchedule. The caller has locked the store's mutex.
func (s *Store) fire(f store.ScheduleFire) (bool, error) {
	r := s.schedules[f.Name]
	if r == nil || r.ID != f.ID || r.Version != f.Version {
		return false, nil
	}
	var tasks []store.NewTask
	all, last, former := slices.Clone(f.Tasks), f.LastTask, f.Former
	for i, n := range all {
		if _, taken := errors.AsType[*store.DuplicateError](s.taken(&Task{ID: n.ID, Submitted: n.Submitted}, "unique_key", n.UniqueKey, nil)); taken {
			if last == n.ID {
				last = former
			}
			all[i].ID = uuid.Nil
			continue
		}
		d, taken := errors.AsType[*store.DuplicateError](s.taken(&Task{ID: n.ID, Submitted: n.Submitted}, "idempotency_key", n.IdempotencyKey, nil))
		if former = n.ID; !taken {
			tasks = append(tasks, n)
			continue
		}
		if last == n.ID {
			last = d.ID
		}
		all[i].ID, former = d.ID, d.ID
	}
	plans, err := newPlans(tasks)
	if err == nil && len(tasks) > 0 {
		err = s.insertAll(tasks, plans, true)
	}
	if err != nil {
		return false, fmt.Errorf("fire the schedule %q: %w", f.Name, err)
	}
	now := s.now()
	r.Version++
	r.Triggered, r.TriggeredBy, r.TriggerReason = f.Triggered, f.TriggeredBy, f.TriggerReason
	r.Overdue, r.Buffered = f.Overdue, f.Buffered
	r.NextAt, r.NextWall, r.LastWall, r.LastTask, r.Secrets = f.NextAt, f.NextWall, f.LastWall, last, f.Secrets
	r.LastError = classify.Clean(f.LastError)
	switch {
	case f.LastError == "":
		r.LastErrorAt = time.Time{}
	case f.LastErrorAt.IsZero():
		r.LastErrorAt = now
	}
	if len(f.Tasks) > 0 {
		r.LastAt = now
	}
	r.reckon(now)
	s.commit()
	copy(f.Tasks, all)
	return true, nil
}
