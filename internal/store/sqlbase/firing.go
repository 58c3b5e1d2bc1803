package sqlbase

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// FireSchedule implements [store.Upkeep]. The row is changed first: who finds another
// version stores no task.
func (b *Base) FireSchedule(ctx context.Context, f store.ScheduleFire) (fired bool, err error) {
	var tasks []store.NewTask
	err = b.write(ctx, func(q store.Querier) error {
		fired, tasks = false, slices.Clone(f.Tasks)
		var changed int64
		if err := b.advance(&f, &changed).Run(ctx, q); err != nil || changed == 0 {
			return err
		}
		last, former := f.LastTask, f.Former
		for i := range tasks {
			tasks[i].ID = f.Tasks[i].ID
			err := store.Insert(ctx, q, b.Schema(), tasks[i:i+1], true)
			d, taken := errors.AsType[*store.DuplicateError](err)
			switch {
			case taken && d.Column == "idempotency_key": // the wall time has its task
				if last == tasks[i].ID {
					last = d.ID
				}
				tasks[i].ID = d.ID
			case taken && d.Column == "unique_key":
				if last == tasks[i].ID {
					last = former
				}
				tasks[i].ID = uuid.Nil
			case err != nil:
				return err
			}
			if tasks[i].ID != uuid.Nil {
				former = tasks[i].ID
			}
		}
		if last != f.LastTask {
			if _, err := q.ExecContext(ctx, b.SQL("UPDATE {s}taskkit_schedule SET last_task_id = $1 WHERE name = $2"), optionalID(last), f.Name); err != nil {
				return err
			}
		}
		fired = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("fire the schedule %q: %w", f.Name, err)
	}
	if fired {
		copy(f.Tasks, tasks)
	}
	return fired, nil
}

// FireSchedules implements [store.Upkeep]. As in FireSchedule, the rows are changed first.
func (b *Base) FireSchedules(ctx context.Context, fires []store.ScheduleFire) (fired []bool, err error) {
	err = b.write(ctx, func(q store.Querier) error {
		fired = make([]bool, len(fires))
		changed, steps := make([]int64, len(fires)), make([]Step, len(fires))
		for i := range fires {
			steps[i] = b.advance(&fires[i], &changed[i])
		}
		if err := do(ctx, q, steps...); err != nil {
			return err
		}
		if err := flush(ctx, q); err != nil {
			return err
		}
		var tasks []store.NewTask
		for i, n := range changed {
			if fired[i] = n == 1; fired[i] {
				tasks = append(tasks, fires[i].Tasks...)
			}
		}
		if len(tasks) == 0 {
			return nil
		}
		return store.Insert(ctx, q, b.Schema(), tasks, true)
	})
	if err != nil {
		return nil, fmt.Errorf("fire %d schedules: %w", len(fires), err)
	}
	return fired, nil
}

// advance stores what comes next for a schedule, if it still has its version.
func (b *Base) advance(f *store.ScheduleFire, changed *int64) Step {
	p := new(scheduleParams)
	id, version := b.id(p.add(f.ID.String())), p.add(f.Version)
	set := []string{
		"version", "version + 1", "triggered", p.add(f.Triggered), "triggered_by", p.add(optionalID(f.TriggeredBy)), "trigger_reason", p.add(optionalText(f.TriggerReason)),
		"last_wall", p.add(optionalText(f.LastWall)), "last_task_id", p.add(optionalID(f.LastTask)), "secrets", p.add(f.Secrets),
		"last_error", p.add(optionalText(classify.Clean(f.LastError))),
	}
	if len(f.Tasks) > 0 {
		set = append(set, "last_date", "{now}")
	}
	switch {
	case f.LastError == "":
		set = append(set, "last_error_date", "NULL")
	case f.LastErrorAt.IsZero():
		set = append(set, "last_error_date", "{now}")
	}
	set = append(set, b.nextOf(&f.Schedule, p)...)
	return Step{
		Text: b.SQL("UPDATE {s}taskkit_schedule SET " + setClauses(set) +
			"\nWHERE id IN (SELECT id FROM {s}taskkit_schedule s WHERE id = " + id + " AND version = " + version + " " + b.lockRowSkipping("s") + ")"),
		Args: p.args, Affected: changed,
	}
}
