package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// Hooks implements [ent.Interface]. The statements of internal/store guard
// transitions themselves, and the triggers guard the table against everybody;
// this one says what is wrong before the database is asked.
func (QueuedTask) Hooks() []ent.Hook { return []ent.Hook{guardTransitions} }

// The columns that the guard reads.
const (
	columnStatus  = "workflow_status"
	columnFence   = "fence"
	columnStarted = "execution_started_date"
	columnPartial = "partial"
)

// taskMutation is what the guard needs of ent's generated mutation, which this
// package cannot import.
type taskMutation interface {
	ent.Mutation
	ID() (uuid.UUID, bool)
	IDs(context.Context) ([]uuid.UUID, error)
	WhereP(...func(*sql.Selector))
}

// guardTransitions refuses changes of a task that the transition table does not
// have, and the removal of a task that a worker holds.
func guardTransitions(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		t, ok := m.(taskMutation)
		if !ok {
			return nil, fmt.Errorf("guard transitions: %T is not a task's mutation", m)
		}
		var err error
		switch {
		case m.Op().Is(ent.OpCreate):
			err = guardCreate(t)
		case m.Op().Is(ent.OpDelete | ent.OpDeleteOne):
			return guardDelete(ctx, t, next)
		case touches(t):
			err = guardUpdate(ctx, t)
		}
		if err != nil {
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

// touches reports whether a mutation changes the status or the fence.
func touches(m ent.Mutation) bool {
	_, status := m.Field(columnStatus)
	_, fence := m.Field(columnFence)
	_, added := m.AddedField(columnFence)
	return status || fence || added
}

// guardCreate lets a task begin its life as QUEUED only.
func guardCreate(m ent.Mutation) error {
	if s, ok := m.Field(columnStatus); ok && s != lifecycle.Queued {
		return fmt.Errorf("a new task is %s, not %v", lifecycle.Queued, s)
	}
	if f, ok := m.Field(columnFence); ok && f != int64(0) {
		return fmt.Errorf("a new task has fence 0, not %v", f)
	}
	return nil
}

// guardUpdate compares the change of one task with the table of transitions. The
// update is then bound to the status and fence that were found, so that it does
// nothing when another was faster.
func guardUpdate(ctx context.Context, m taskMutation) error {
	if !m.Op().Is(ent.OpUpdateOne) {
		return errors.New("change the status or fence of tasks one by one: for many at once the status of each is not known")
	}
	status, err := old[lifecycle.Status](ctx, m, columnStatus)
	if err != nil {
		return err
	}
	fence, err := old[int64](ctx, m, columnFence)
	if err != nil {
		return err
	}
	to := status
	if s, ok := m.Field(columnStatus); ok {
		if to, err = as[lifecycle.Status](s, columnStatus); err != nil {
			return err
		}
	}
	claimed, err := fenceAfter(m, fence)
	if err != nil {
		return err
	}
	id, _ := m.ID()
	if to == status {
		if claimed != fence {
			return fmt.Errorf("task %s: the fence changes with a claim only", id)
		}
	} else if err := legal(ctx, m, status, to, claimed-fence); err != nil {
		return fmt.Errorf("task %s: %w", id, err)
	}
	m.WhereP(sql.FieldEQ(columnStatus, status), sql.FieldEQ(columnFence, fence))
	return nil
}

// legal checks a transition and its condition on the row.
func legal(ctx context.Context, m ent.Mutation, from, to lifecycle.Status, fences int64) error {
	e, ok := lifecycle.Find(from, to)
	if !ok {
		return fmt.Errorf("%s to %s is not a legal transition", from, to)
	}
	t := lifecycle.EdgeChange{Fences: fences}
	var err error
	if t.Started, err = startedAfter(ctx, m); err != nil {
		return err
	}
	if t.Partial, err = after[bool](ctx, m, columnPartial); err != nil {
		return err
	}
	return e.Check(t)
}

// startedAfter reports whether the row has a time of its start after a mutation.
func startedAfter(ctx context.Context, m ent.Mutation) (bool, error) {
	if _, ok := m.Field(columnStarted); ok {
		return true, nil
	}
	if m.FieldCleared(columnStarted) {
		return false, nil
	}
	started, err := old[*time.Time](ctx, m, columnStarted)
	return started != nil, err
}

// fenceAfter is the fence that a mutation leaves.
func fenceAfter(m ent.Mutation, was int64) (fence int64, err error) {
	fence = was
	if f, ok := m.Field(columnFence); ok {
		if fence, err = as[int64](f, columnFence); err != nil {
			return 0, err
		}
	}
	if f, ok := m.AddedField(columnFence); ok {
		added, err := as[int64](f, columnFence)
		return fence + added, err
	}
	return fence, nil
}

// as is a column's value as the type that it has.
func as[T any](value any, column string) (T, error) {
	v, ok := value.(T)
	if !ok {
		return v, fmt.Errorf("%s is a %T", column, value)
	}
	return v, nil
}

// old reads a column as it is before the mutation.
func old[T any](ctx context.Context, m ent.Mutation, column string) (v T, err error) {
	value, err := m.OldField(ctx, column)
	if err != nil {
		return v, fmt.Errorf("read the %s that the change meets: %w", column, err)
	}
	return as[T](value, column)
}

// after reads a column as the mutation leaves it.
func after[T any](ctx context.Context, m ent.Mutation, column string) (T, error) {
	if v, ok := m.Field(column); ok {
		return as[T](v, column)
	}
	return old[T](ctx, m, column)
}

// guardDelete refuses to remove tasks that a worker holds. The removal is bound
// to the others, so that one claimed at the last moment stays.
func guardDelete(ctx context.Context, m taskMutation, next ent.Mutator) (ent.Value, error) {
	before, err := m.IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the tasks to remove: %w", err)
	}
	one := m.Op().Is(ent.OpDeleteOne)
	m.WhereP(sql.FieldNotIn(columnStatus, lifecycle.Scheduling, lifecycle.Executing))
	if !one {
		free, err := m.IDs(ctx)
		if err != nil {
			return nil, fmt.Errorf("find the tasks to remove: %w", err)
		}
		if len(free) < len(before) {
			return nil, fmt.Errorf("%d of %d tasks are held by a worker: ask for their deletion instead", len(before)-len(free), len(before))
		}
	}
	v, err := next.Mutate(ctx, m)
	if n, ok := v.(int); one && err == nil && ok && n == 0 {
		return nil, fmt.Errorf("task %s is held by a worker, or is not there: ask for its deletion instead", strings.Trim(fmt.Sprint(before), "[]"))
	}
	return v, err
}
