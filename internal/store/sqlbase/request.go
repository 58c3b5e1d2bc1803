package sqlbase

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// Request implements [store.Requests].
func (b *Base) Request(ctx context.Context, id uuid.UUID, r store.Request) (t store.Task, err error) {
	err = b.write(ctx, func(q store.Querier) (err error) {
		t, err = b.request(ctx, q, id, r)
		return err
	})
	if err != nil {
		var (
			state  *store.StateError
			dup    *store.DuplicateError
			parent *store.ParentError
		)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNoSkip) || errors.Is(err, store.ErrNoPart) || errors.Is(err, store.ErrBucketLimit) || errors.As(err, &state) || errors.As(err, &dup) || errors.As(err, &parent) {
			return store.Task{}, err
		}
		return store.Task{}, fmt.Errorf("%s task %s: %w", r.Action, id, err)
	}
	return t, nil
}

// lockedTask is a task's row as a request finds and locks it. Its parent and the holder of its unique key are read later.
type lockedTask struct {
	store.Subject

	options  json.RawMessage // as stored
	notifies bool            // it has subscriptions
}

// request makes the request in the caller's transaction.
func (b *Base) request(ctx context.Context, q store.Querier, id uuid.UUID, r store.Request) (store.Task, error) {
	in := within(q, b.Schema(), b.Dialect())
	var parent store.ParentState
	if (r.Action == lifecycle.ActRetry || r.Action == lifecycle.ActDelete) && b.Dialect() == dialect.Postgres {
		var err error
		if parent, err = b.lockParent(ctx, q, id); err != nil {
			return store.Task{}, err
		}
	}
	row, err := b.lock(ctx, q, id)
	if err != nil {
		return store.Task{}, err
	}
	if row.Abandoned() {
		if err := b.release(ctx, q); err != nil {
			return store.Task{}, err
		}
		if row, err = b.lock(ctx, q, id); err != nil {
			return store.Task{}, err
		}
	}
	if err := b.sumProgress(ctx, q, &row.Subject); err != nil {
		return store.Task{}, err
	}
	if !lifecycle.AsListed(r.Dead, row.Status, row.Fence) {
		return store.Task{}, store.ChangedError(id, r.Action, row.Status, row.Control)
	}
	change, err := row.DecideState(r)
	if err != nil {
		return store.Task{}, err
	}
	if change.Effect == lifecycle.Requeued {
		if row.KeyHolder, err = b.keyHolder(ctx, q, row); err != nil {
			return store.Task{}, err
		}
	}
	if row.NeedsParent(r) && parent == (store.ParentState{}) && change.Effect != lifecycle.Unchanged {
		// On SQLite the caller is the only writer by now. A stop needs no lock: if the parent ends meanwhile, so has the task.
		if parent, err = b.parentOf(ctx, q, id, ""); err != nil {
			return store.Task{}, err
		}
	}
	row.Parent = parent
	// A caller's transaction may be committed after a refusal: nothing is
	// written before that.
	if err := row.Forbids(r, change); err != nil {
		return store.Task{}, err
	}
	if change.Effect == lifecycle.Requeued {
		if r.Skip {
			if err := b.skipItem(ctx, q, id); err != nil {
				return store.Task{}, err
			}
		}
		if err := b.forgetFailing(ctx, q, id, &row.options); err != nil {
			return store.Task{}, err
		}
		if err := b.markRetry(ctx, q, id); err != nil {
			return store.Task{}, err
		}
		if parent.ID != uuid.Nil {
			if err := b.forgetSums(ctx, q, parent.ID); err != nil {
				return store.Task{}, err
			}
		}
	}
	if err := b.recordEvent(ctx, q, id, r, row.Status); err != nil {
		return store.Task{}, err
	}
	if had := row.With(r).Conditions; had.Mark(r.Action) != had || r.StopAfter != (lifecycle.StopPolicy{}) {
		if err := b.setConditions(ctx, q, id, &row.options, had.Mark(r.Action)); err != nil {
			return store.Task{}, err
		}
	}
	if r.MaxParallel > 0 {
		if err := b.setMaxParallel(ctx, q, id, &row.options, r.MaxParallel); err != nil {
			return store.Task{}, err
		}
	}
	if r.MaxRate != 0 {
		if err := b.setMaxRate(ctx, q, id, &row.options, r.MaxRate); err != nil {
			return store.Task{}, err
		}
	}
	if r.Policies != nil {
		if err := b.setPolicies(ctx, q, id, &row.options, *r.Policies); err != nil {
			return store.Task{}, err
		}
	}
	if r.Priority > 0 {
		if _, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_queued_task SET priority = $2, modified_date = {now}, modified_by = $3
WHERE id = $1`), id.String(), int64(r.Priority), r.Actor.String()); err != nil {
			return store.Task{}, err
		}
	}
	if change.Effect == lifecycle.Removed {
		if err := flush(ctx, q); err != nil {
			return store.Task{}, err
		}
		t, err := in.Task(ctx, id)
		if err != nil {
			return store.Task{}, err
		}
		if _, err := q.ExecContext(ctx, b.SQL("DELETE FROM {s}taskkit_queued_task WHERE id = $1"), id.String()); err != nil {
			return store.Task{}, err
		}
		if err := b.removeChildren(ctx, q, []uuid.UUID{id}); err != nil {
			return store.Task{}, err
		}
		t.Control, t.ControlBy, t.ControlReason = change.Control, r.Actor, classify.Clean(r.Reason)
		return t, nil
	}
	if change.Effect != lifecycle.Unchanged {
		args := []any{id.String(), r.Actor.String()} // unknown stays unknown
		if change.Control != lifecycle.None {
			args = append(args, optionalID(r.Actor), cmp.Or(change.Reason, classify.Clean(r.Reason)))
		}
		err := do(ctx, q, Step{Text: b.SQL("UPDATE {s}taskkit_queued_task SET " + assignments(change) + `,
  modified_date = {now}, modified_by = $2 WHERE id = $1`), Args: args})
		if err == nil && change.Effect == lifecycle.Requeued {
			err = flush(ctx, q) // only this can find that the key is taken
		}
		if classify.UniqueViolation(err) {
			return store.Task{}, &store.DuplicateError{Kind: row.Kind, Column: "unique_key", Key: row.UniqueKey}
		}
		if err != nil {
			return store.Task{}, err
		}
		if change.Effect == lifecycle.Ended {
			if err := b.endWaits(ctx, q, []uuid.UUID{id}); err != nil {
				return store.Task{}, err
			}
			if row.notifies {
				if err := b.announce(ctx, q, notice.Ended, id); err != nil {
					return store.Task{}, err
				}
			}
		}
		if err := b.wakeWorkers(ctx, q, row, r.Action, change); err != nil {
			return store.Task{}, err
		}
	}
	if err := flush(ctx, q); err != nil {
		return store.Task{}, err
	}
	t, err := in.Task(ctx, id)
	t.HasOpenChildren = row.HasOpenChildren
	return t, err
}

// subjectColumns are the columns of a task's row that decide about a request, in the order of [subjectRow.own].
const subjectColumns = `workflow_status, control, coalesce(control_reason, ''), fence, execution_component_name, coalesce(unique_key, ''), owner_id, run_as_id, created_by,
  items_done, items_failed, items_skipped`

// surroundings is the SQL of what else decides about a request of the task q, in the order of [subjectRow.around].
// continuation is the SQL of its [store.ContinuationKey].
func (b *Base) surroundings(continuation string) string {
	return b.SQL(`EXISTS (SELECT 1 FROM {s}taskkit_task_process p
  WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL AND NOT (`) + b.silent() + `)), ` + b.known() + `,
  ` + b.withKey(continuation) + b.SQL(`,
  (SELECT p.options FROM {s}taskkit_task_plan p WHERE p.task_id = q.id), `) + b.hasOpenChildren()
}

// withKey is the SQL of the id of the task of the kind of q with an idempotency key.
func (b *Base) withKey(key string) string {
	return b.SQL(`(SELECT c.id FROM {s}taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name AND c.idempotency_key = ` + key + ")")
}

// subjectRow scans what decides about a request.
type subjectRow struct {
	lockedTask

	reason    string
	continued uuid.NullUUID
}

func (r *subjectRow) own() []any {
	return []any{
		&r.Status, &r.Control, &r.reason, &r.Fence, &r.Kind, &r.UniqueKey, &r.Owner, &r.RunAs, &r.CreatedBy,
		&r.Progress.Done, &r.Progress.Failed, &r.Progress.Skipped,
	}
}

func (r *subjectRow) around() []any {
	return []any{&r.WorkerAlive, &r.Served, &r.continued, sqlrows.JSON(&r.options), &r.HasOpenChildren}
}

// subject returns what was scanned of a task.
func (r *subjectRow) subject(id uuid.UUID) (lockedTask, error) {
	options, err := store.DecodeOptions(r.options)
	if err != nil {
		return lockedTask{}, err
	}
	r.ID, r.Conditions, r.Continued = id, options.Conditions, r.continued.UUID
	r.notifies = options.Notifies()
	r.Passed, r.Part = lifecycle.Passed(r.Control, r.reason), options.Child.Part()
	r.Bucket = options.Child.Bucket()
	return r.lockedTask, nil
}

// sumProgress makes the progress of tasks with conditions the sum of their children's, if they have children, by which it is decided
// whether they may go on.
func (b *Base) sumProgress(ctx context.Context, q store.Querier, tasks ...*store.Subject) error {
	var ids []uuid.UUID
	for _, s := range tasks {
		if s.Status.Live() && s.Conditions != (lifecycle.Conditions{}) {
			ids = append(ids, s.ID)
		}
	}
	counts, err := b.sumChildren(ctx, q, ids)
	for _, s := range tasks {
		if c, ok := counts[s.ID]; ok {
			s.Progress = c.Progress()
		}
	}
	return err
}

// lock reads a task's row and keeps it from changing until the transaction ends.
// It does not wait for a batch in progress, which holds a weaker lock.
func (b *Base) lock(ctx context.Context, q store.Querier, id uuid.UUID) (lockedTask, error) {
	query := "SELECT " + subjectColumns + " FROM {s}taskkit_queued_task WHERE id = $1 FOR NO KEY UPDATE"
	if b.Dialect() == dialect.SQLite {
		query = writerFirst("id = $1", subjectColumns)
	}
	var (
		row   subjectRow
		found bool
	)
	// The second statement reads what was committed until the first had the lock.
	err := do(ctx, q, Step{
		Text: b.SQL(query),
		Args: []any{id.String()},
		Row: func(scan func(...any) error) error {
			found = true
			return scan(row.own()...)
		},
	}, Step{
		Text: "SELECT " + b.surroundings("$2") + b.SQL(`
FROM {s}taskkit_queued_task q WHERE q.id = $1`),
		Args: []any{id.String(), store.ContinuationKey(id)},
		Row:  func(scan func(...any) error) error { return scan(row.around()...) },
	})
	if err == nil {
		err = flush(ctx, q)
	}
	switch {
	case err != nil:
		return lockedTask{}, err
	case !found:
		return lockedTask{}, store.ErrNotFound
	}
	return row.subject(id)
}

// assignments is the SQL of what a request sets on a task's row, as
// [lifecycle.Row.Request] defines. $3 is the actor and $4 the reason.
func assignments(c lifecycle.Change) string {
	if c.Effect == lifecycle.Ended {
		return ended(c)
	}
	set := "control = '" + string(c.Control) + "', "
	if c.Control == lifecycle.None {
		set += "control_by = NULL, control_reason = NULL"
	} else {
		set += "control_by = $3, control_reason = nullif($4, '')"
	}
	switch c.Effect {
	case lifecycle.Unchanged, lifecycle.Recorded, lifecycle.Removed, lifecycle.Ended:
	case lifecycle.Expedited:
		set += ", not_before = {now}, stalled = true"
	case lifecycle.Requeued:
		set += ", workflow_status = 'QUEUED', attempts = 0, workflow_stopped_date = NULL, stalled = false, not_before = {now}" +
			", waiting_reason = '" + lifecycle.ReasonRetried + "'"
	}
	return set
}

// ended is the SQL of what completes a task by a request, see
// [lifecycle.Row.Request].
func ended(c lifecycle.Change) string {
	return "workflow_status = 'COMPLETED', partial = true, control = '', control_by = NULL, control_reason = NULL" +
		", waiting_reason = NULL, workflow_stopped_date = {now}, workflow_status_desc = '" + c.Desc + "'"
}

// recordEvent appends a request to the log of events.
func (t Statements) recordEvent(ctx context.Context, q store.Querier, id uuid.UUID, r store.Request, was lifecycle.Status) error {
	return do(ctx, q, Step{
		Text: t.SQL(`INSERT INTO {s}taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6)`),
		Args: []any{store.NewID().String(), id.String(), string(r.Action), optionalID(r.Actor), classify.Clean(r.EventReason()), string(was)},
	})
}

// skipItem records the element that Take returns next as a failed item, as
// [lifecycle.Row.SkipItem] defines.
func (b *Base) skipItem(ctx context.Context, q store.Querier, id uuid.UUID) error {
	var (
		row      lifecycle.Row
		deferred int64
		key      string
		finding  bool
	)
	_, err := sqlrows.Query(ctx, q, b.SQL(`SELECT q.checkpoint_seq, q.round, q.position, coalesce(q.items_total, -1), coalesce(i.position, 0), coalesce(i.item, ''),
  EXISTS (SELECT 1 FROM {s}taskkit_task_plan p WHERE p.task_id = q.id AND (p.targets = 'finding' OR p.options ->> CAST('max_parallel' AS text) IS NOT NULL))
FROM {s}taskkit_queued_task q LEFT JOIN {s}taskkit_task_item i ON i.task_id = q.id AND i.outcome = 'deferred' AND i.position > q.position
WHERE q.id = $1 ORDER BY i.position LIMIT 1`), []any{id.String()}, func(rows *sql.Rows) error {
		return rows.Scan(&row.Seq, &row.Progress.Round, &row.Progress.Position, &row.Progress.Total, &deferred, &key, &finding)
	})
	if err != nil {
		return err
	}
	position := row.Skippable(deferred)
	if finding || position == 0 {
		return store.ErrNoSkip
	}
	if _, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_queued_task SET position = $2, items_failed = items_failed + 1 WHERE id = $1`),
		id.String(), position); err != nil {
		return err
	}
	item := store.SkippedItem(position)
	if row.Progress.Round > 0 {
		item.Key = key
	}
	var items itemRows
	items.add(&itemRow{id.String(), item})
	return recordRows(ctx, b.Statements, q, &recordedItems, items.rows)
}

// keyHolder returns another live task that has the unique key of a task; zero: none.
func (b *Base) keyHolder(ctx context.Context, q store.Querier, row lockedTask) (uuid.UUID, error) {
	if row.UniqueKey == "" {
		return uuid.Nil, nil
	}
	others, err := sqlrows.IDs(ctx, q, b.SQL(`SELECT id FROM {s}taskkit_queued_task
WHERE execution_component_name = $1 AND unique_key = $2 AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND id <> $3`),
		row.Kind, row.UniqueKey, row.ID.String())
	if err != nil || len(others) == 0 {
		return uuid.Nil, err
	}
	return others[0], nil
}

// wakeWorkers notifies workers that a waiting task may be claimed. Requests are rare
// enough for a notification each.
func (b *Base) wakeWorkers(ctx context.Context, q store.Querier, row lockedTask, a lifecycle.Action, c lifecycle.Change) error {
	if row.Status.InFlight() || c.Control == lifecycle.Pause {
		return nil
	}
	return b.notify(ctx, q, string(a))
}
