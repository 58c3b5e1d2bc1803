package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store/sqlrows"
)

// coalesceTries is how often a submission with a reference starts again because
// others have changed the tasks that it read. A handle that is a transaction
// locks them, so only an insert by another can interfere.
const coalesceTries = 5

// waitingTask is a task that a submission with the same reference is merged into.
type waitingTask struct {
	lifecycle.Identity
	id      uuid.UUID
	control lifecycle.Control
	fence   int64
}

// coalesce stores a task with a reference, or merges it into the tasks of this
// reference that wait and may be replaced (CER-14). There is nearly always one at
// most. There are more when a task was submitted while the former one was running
// and that one waits for a retry now. Then one takes the new submission and the others
// end, because none may begin with an older spec after this one was accepted.
func (i *inserter) coalesce(ctx context.Context, t *NewTask) error {
	q, ok := i.handle.(Querier)
	if !ok {
		return ErrCannotQuery
	}
	if err := i.lockVersion(ctx, q, t); err != nil {
		return err
	}
	for range coalesceTries {
		waiting, err := i.lockWaiting(ctx, q, t)
		if err != nil {
			return fmt.Errorf("find the tasks of kind %s with reference %q that wait: %w", t.Kind, t.Reference, err)
		}
		if t.keyed() {
			dup, err := i.duplicate(ctx, []*NewTask{t}, waiting)
			if err != nil || dup != nil && dup.ID != uuid.Nil {
				return errors.Join(err, asError(dup))
			}
		}
		for _, w := range waiting {
			if d := w.Differences(t.identity()); len(d) > 0 {
				return &CoalesceError{Kind: t.Kind, Reference: t.Reference, ID: w.id, Differs: d}
			}
		}
		stored, err := i.merge(ctx, t, waiting)
		if err != nil {
			return fmt.Errorf("store a task of kind %s with reference %q: %w", t.Kind, t.Reference, err)
		}
		if stored {
			return i.storeVersion(ctx, t)
		}
	}
	return fmt.Errorf("store a task of kind %s with reference %q: other submissions interfered %d times; submit in a transaction",
		t.Kind, t.Reference, coalesceTries)
}

// identity is what a waiting task must agree with.
func (t *NewTask) identity() lifecycle.Identity {
	return lifecycle.Identity{Owner: t.Owner, RunAs: t.RunAs, Queue: t.Queue, UniqueKey: t.UniqueKey}
}

// Delayed reports whether the task is submitted for a later time. Only tasks with
// a reference are distinguished by it, and of these not those with a version.
func (t *NewTask) Delayed() bool {
	return t.Reference != "" && t.Version == nil && (t.Delay > 0 || !t.NotBefore.IsZero())
}

// lockWaiting reads the tasks that wait with the reference of a new one and may be
// replaced, those that were never claimed first, and locks them until the
// transaction ends. On SQLite it is a write, so that the transaction has the lock
// from here on: a reader that writes later cannot wait for it.
func (i *inserter) lockWaiting(ctx context.Context, q Querier, t *NewTask) ([]waitingTask, error) {
	const (
		columns = "id, owner_id, run_as_id, queue, coalesce(unique_key, ''), control, fence," +
			" CAST(execution_state AS text) <> '{}' OR position + round + items_done + items_failed + items_skipped > 0"
		where = " WHERE execution_component_name = $1 AND reference = $2 AND delayed = $3" +
			" AND workflow_status = 'QUEUED' AND control NOT IN ('STOP', 'DELETE')"
	)
	failed := func(schema string) string {
		return ", EXISTS (SELECT 1 FROM " + schema + "taskkit_task_attempt a WHERE a.task_id = taskkit_queued_task.id" +
			" AND a.checkpoint_seq = taskkit_queued_task.checkpoint_seq)"
	}
	schema := `"` + i.schema + `".`
	query := dialect.Either(
		"SELECT "+columns+failed(schema)+" FROM "+schema+"taskkit_queued_task"+where+" FOR NO KEY UPDATE",
		"UPDATE taskkit_queued_task SET modified_date = modified_date"+where+" RETURNING "+columns+failed(""))
	rows, err := q.QueryContext(ctx, query, t.Kind, t.Reference, t.Delayed()) //nolint:rowserrcheck // sqlrows.Scan does
	if err != nil {
		return nil, err
	}
	var waiting []waitingTask
	_, err = sqlrows.Scan(rows, func(rows *sql.Rows) error {
		var (
			w                waitingTask
			halfDone, failed bool
		)
		err := rows.Scan(&w.id, &w.Owner, &w.RunAs, &w.Queue, &w.UniqueKey, &w.control, &w.fence, &halfDone, &failed)
		if lifecycle.Replaceable(halfDone, failed) {
			waiting = append(waiting, w)
		}
		return err
	})
	slices.SortFunc(waiting, func(a, b waitingTask) int {
		return cmp.Or(cmp.Compare(min(a.fence, 1), min(b.fence, 1)), slices.Compare(a.id[:], b.id[:]))
	})
	return waiting, err
}

// merge stores a task, or merges it into those that wait. It returns false if
// they, or the absence of any, are no longer as they were read.
func (i *inserter) merge(ctx context.Context, t *NewTask, waiting []waitingTask) (bool, error) {
	if len(waiting) == 0 {
		one := []*NewTask{t}
		query, args := insertOf(i.table, one)
		return i.changesOne(ctx, query+"\nON CONFLICT DO NOTHING"+i.notification(one), args...)
	}
	target, others, uniqueKey := waiting[0], waiting[1:], t.UniqueKey
	for _, w := range others {
		uniqueKey = cmp.Or(uniqueKey, w.UniqueKey)
		if ok, err := i.supersede(ctx, t, w, target.id); err != nil || !ok {
			return false, err
		}
	}
	ok, err := i.replace(ctx, t, target, uniqueKey)
	if classify.UniqueViolation(err) {
		return false, &DuplicateError{Kind: t.Kind, Column: "unique_key", Key: t.UniqueKey}
	}
	if err != nil || !ok {
		return false, err
	}
	if t.IdempotencyKey != "" {
		ok, err := i.changesOne(ctx, "INSERT INTO "+i.mergedKeys()+" (id, task_id, execution_component_name, idempotency_key)\n"+
			"VALUES ($1, $2, $3, $4)\nON CONFLICT DO NOTHING", t.ID.String(), target.id.String(), t.Kind, t.IdempotencyKey)
		if err != nil || !ok {
			return false, err
		}
	}
	t.ID = target.id
	if target.control == lifecycle.Pause && i.paused == nil {
		i.paused = &PausedError{Kind: t.Kind, Reference: t.Reference, ID: target.id}
	}
	return true, nil
}

// replace makes a waiting task what was submitted, see [lifecycle.Row.Coalesce].
// The task keeps its idempotency key, and the options that it was given while it waited: if its sessions read the plan,
// they still do. A unique key is given to a task that has
// none.
func (i *inserter) replace(ctx context.Context, t *NewTask, w waitingTask, uniqueKey string) (bool, error) {
	merged := *t
	merged.Actor, merged.UniqueKey = cmp.Or(t.Actor, t.Owner), uniqueKey
	set, params := mergeClauses(3)
	args := []any{w.id.String(), w.fence}
	for _, c := range params {
		args = append(args, c.Arg(&merged))
	}
	now := dialect.Either("clock_timestamp()", dialect.SQLiteNow)
	ok, err := i.changesOne(ctx, "UPDATE "+i.table+" SET\n  "+set+`,
  attempts = 0, stalled = false, waiting_reason = NULL, workflow_status_desc = NULL,
  round = 0, deferred = false, items_done = 0, items_failed = 0, items_skipped = 0,
  scheduling_started_date = NULL, execution_started_date = NULL, first_started_date = NULL,
  created_date = `+now+`, modified_date = `+now+`
WHERE id = $1 AND fence = $2 AND workflow_status = 'QUEUED' AND control NOT IN ('STOP', 'DELETE')`+i.notification([]*NewTask{t}), args...)
	if err != nil || !ok || w.fence == 0 {
		return ok, err
	}
	// The outcomes and the rate belonged to the items of the former spec.
	former := []string{"taskkit_task_item", "taskkit_task_rate"}
	if t.Ledger {
		former = append(former, "taskkit_task_ledger")
	}
	for _, table := range former {
		if _, err := i.handle.ExecContext(ctx, "DELETE FROM "+strings.ReplaceAll(i.table, "taskkit_queued_task", table)+
			" WHERE task_id = $1", w.id.String()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// supersede ends a task that waits beside the one that takes a submission, see [lifecycle.Row.Supersede].
func (i *inserter) supersede(ctx context.Context, t *NewTask, w waitingTask, by uuid.UUID) (bool, error) {
	now := dialect.Either("clock_timestamp()", dialect.SQLiteNow)
	return i.changesOne(ctx, "UPDATE "+i.table+` SET workflow_status = 'COMPLETED', partial = true, workflow_status_desc = $3,
  control = '', control_by = NULL, control_reason = NULL, waiting_reason = NULL,
  workflow_stopped_date = `+now+", modified_date = "+now+`, modified_by = $4
WHERE id = $1 AND fence = $2 AND workflow_status = 'QUEUED' AND control NOT IN ('STOP', 'DELETE')`,
		w.id.String(), w.fence, lifecycle.SupersededBy(by), cmp.Or(t.Actor, t.Owner).String())
}

// changesOne executes a statement and reports whether it changed a row.
func (i *inserter) changesOne(ctx context.Context, query string, args ...any) (bool, error) {
	r, err := i.handle.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

// mergedKeys is the table of idempotency keys of merged submissions.
func (i *inserter) mergedKeys() string { return mergedKeysOf(i.table) }

func mergedKeysOf(table string) string {
	return strings.ReplaceAll(table, "taskkit_queued_task", "taskkit_merged_key")
}

// orNull is null for an empty text.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
