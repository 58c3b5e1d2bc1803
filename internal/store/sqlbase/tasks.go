package sqlbase

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Task implements [store.Reader].
func (b *Base) Task(ctx context.Context, id uuid.UUID) (store.Task, error) {
	ts, _, err := b.tasks(ctx, store.Filter{IDs: []uuid.UUID{id}, Limit: 1}, true)
	if err != nil {
		return store.Task{}, err
	}
	if len(ts) == 0 {
		return store.Task{}, store.ErrNotFound
	}
	if ts[0].Spec != nil {
		return ts[0], nil
	}
	plan, err := b.Plan(ctx, id)
	ts[0].Spec, ts[0].Preview = plan.Spec, plan.Options.Preview
	if f := plan.Frozen; f != nil && f.Finding {
		ts[0].Found = &f.Total
	}
	return ts[0], err
}

// Tasks implements [store.Reader].
func (b *Base) Tasks(ctx context.Context, f store.Filter) (page []store.Task, next uuid.UUID, err error) {
	return b.tasks(ctx, f, false)
}

// refColumns are the columns of a [store.TaskRef].
var refColumns = []string{queuedtask.FieldID, queuedtask.FieldExecutionComponentName, queuedtask.FieldControl}

// filtered are the columns that a filter is about, besides refColumns.
var filtered = []string{
	queuedtask.FieldOwnerID, queuedtask.FieldQueue, queuedtask.FieldReference, queuedtask.FieldUniqueKey, queuedtask.FieldParentID, queuedtask.FieldFollowsID,
	queuedtask.FieldWorkflowStatus, queuedtask.FieldWorkflowStatusDesc, queuedtask.FieldWorkflowStoppedDate, queuedtask.FieldControlReason,
}

// TaskRefs implements [store.Reader].
func (b *Base) TaskRefs(ctx context.Context, f store.Filter) (page []store.TaskRef, next uuid.UUID, err error) {
	l := &list{Base: b, f: f, refs: true, limit: limit(f.Limit), columns: slices.Concat(refColumns, filtered)}
	query, args := l.query()
	_, err = sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error {
		var (
			r            store.TaskRef
			wanted, last bool
		)
		if err := rows.Scan(&r.ID, &r.Kind, &r.Control, &wanted, &last); err != nil || next != uuid.Nil {
			return err
		}
		if wanted {
			page = append(page, r)
		}
		if last || len(page) == l.limit {
			next = r.ID
		}
		return nil
	})
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("list the ids of tasks: %w", err)
	}
	return page, next, nil
}

// taskRow is a row of the query of a reader.
type taskRow struct {
	store.Task
	firstStarted         *time.Time
	specRevision, total  sql.NullInt64
	clock                time.Time
	expiry               int64 // of the result, in milliseconds since 1970; 0: see resultColumns
	erased, withChildren bool
}

// ownColumns are the columns of a task that a new task does not have as they are, in the order of [taskRow.targets].
var ownColumns = []string{
	queuedtask.FieldID, queuedtask.FieldCreatedDate, queuedtask.FieldModifiedDate, queuedtask.FieldCreatedBy, queuedtask.FieldModifiedBy,
	queuedtask.FieldCodecRevision, queuedtask.FieldSpecRevision, queuedtask.FieldSecrets,
	queuedtask.FieldWorkflowStatus, queuedtask.FieldWorkflowStatusDesc, queuedtask.FieldPartial, queuedtask.FieldWaitingReason,
	queuedtask.FieldSchedulingStartedDate, queuedtask.FieldFirstStartedDate, queuedtask.FieldExecutionStartedDate, queuedtask.FieldWorkflowStoppedDate,
	queuedtask.FieldScheduledByProcess, queuedtask.FieldFence, queuedtask.FieldCheckpointSeq, queuedtask.FieldAttempts,
	queuedtask.FieldNotBefore, queuedtask.FieldPriority, queuedtask.FieldStalled,
	queuedtask.FieldControl, queuedtask.FieldControlBy, queuedtask.FieldControlReason,
	queuedtask.FieldItemsTotal, queuedtask.FieldPosition, queuedtask.FieldRound, queuedtask.FieldDeferred,
	queuedtask.FieldItemsDone, queuedtask.FieldItemsFailed, queuedtask.FieldItemsSkipped,
}

// largeColumns are read of a single task only.
var largeColumns = []string{queuedtask.FieldExecutionSpec, queuedtask.FieldExecutionState}

// targets returns the scan targets of a row.
func (r *taskRow) targets(whole bool) []any {
	p := &r.Progress
	to := r.Submitted.Targets([]any{
		&r.ID, sqlrows.Time(&r.Created), sqlrows.Time(&r.Modified), &r.CreatedBy, &r.ModifiedBy,
		&r.Revision, &r.specRevision, sqlrows.OptionalText(&r.Secrets),
		&r.Status, sqlrows.OptionalText(&r.StatusDetail), &r.Partial, sqlrows.OptionalText(&r.WaitingReason),
		sqlrows.OptionalTime(&r.Scheduled), sqlrows.OptionalTime(&r.firstStarted), sqlrows.OptionalTime(&r.LeaseStarted), sqlrows.OptionalTime(&r.Stopped),
		sqlrows.OptionalText(&r.Process), &r.Fence, &r.Seq, &r.Attempts,
		sqlrows.Time(&r.NotBefore), &r.Priority, &r.Stalled,
		&r.Control, &r.ControlBy, sqlrows.OptionalText(&r.ControlReason),
		&r.total, &p.Position, &p.Round, &p.Deferred,
		&p.Done, &p.Failed, &p.Skipped,
	})
	if whole {
		to = append(to, sqlrows.JSON(&r.Spec), sqlrows.JSON(&r.State))
	}
	return append(to, sqlrows.Time(&r.clock), &r.expiry, &r.erased, &r.withChildren)
}

// task returns what was read.
func (r *taskRow) task() store.Task {
	t := r.Task
	t.SpecRevision, t.Progress.Total = t.Revision, -1
	if r.specRevision.Valid {
		t.SpecRevision = int(r.specRevision.Int64)
	}
	if r.total.Valid {
		t.Progress.Total = r.total.Int64
	}
	if t.Status != lifecycle.Queued {
		t.WaitingReason = "" // a claim leaves the column as it is
	}
	if r.expiry != 0 {
		at := time.UnixMilli(r.expiry).UTC()
		t.ResultExpires = &at
	}
	t.Started = cmp.Or(r.firstStarted, t.LeaseStarted)
	t.Wait, t.Elapsed = t.NotBefore.Sub(r.clock), r.clock.Sub(t.Created)
	if t.Stopped != nil {
		t.Elapsed = t.Stopped.Sub(t.Created)
	}
	t.ResultErased, t.HasChildren = r.erased, r.withChildren
	return t
}

// tasks lists tasks; whole ones have their spec and their state. next is where the list goes on; the zero id: nowhere.
func (b *Base) tasks(ctx context.Context, f store.Filter, whole bool) (tasks []store.Task, next uuid.UUID, err error) {
	l := &list{Base: b, f: f, columns: slices.Concat(ownColumns, store.SubmittedColumns()), limit: limit(f.Limit)}
	if whole {
		l.columns = append(l.columns, largeColumns...)
	}
	query, args := l.query()
	_, err = sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error {
		var (
			r            taskRow
			wanted, last bool
		)
		if err := rows.Scan(append(r.targets(whole), &wanted, &last)...); err != nil || next != uuid.Nil {
			return err
		}
		if wanted {
			t := r.task()
			t.Preview = f.Previews
			tasks = append(tasks, t)
		}
		if last || len(tasks) == l.limit {
			next = r.ID
		}
		return nil
	})
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("list tasks: %w", err)
	}
	return tasks, next, nil
}

// hasChildren returns an expression for whether the task of an id has children.
func (b *Base) hasChildren(id string) string {
	return b.SQL("EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE ") + b.childOf("c", id) + " LIMIT 1 OFFSET 0)"
}

// resultColumns returns expressions for when the result of a completed task expires, in milliseconds since 1970, and whether it has been
// erased; 0 and false for others, which cost no lookup.
func (b *Base) resultColumns(task string) string {
	expiry := "CAST(extract(epoch FROM r.expiry_date) * 1000.0 AS bigint)"
	if b.Dialect() == dialect.SQLite {
		expiry = "CAST(round((julianday(r.expiry_date) - 2440587.5) * 86400000) AS integer)"
	}
	of := func(expr, none string) string {
		return "CASE WHEN " + task + ".workflow_status = '" + string(lifecycle.Completed) + "' THEN coalesce((SELECT " + expr +
			b.SQL(" FROM {s}taskkit_task_result r WHERE r.task_id = ") + task + ".id), " + none + ") ELSE " + none + " END"
	}
	return of(expiry, "0") + ", " + of("r.result IS NULL", "false")
}

// awaitsApproval selects tasks that wait for approval.
func awaitsApproval(s *entsql.Selector) {
	s.Where(entsql.ExprP(s.C(queuedtask.FieldWorkflowStatus) + " = 'QUEUED' AND " + s.C(queuedtask.FieldControl) + " = 'PAUSE' AND " +
		s.C(queuedtask.FieldControlReason) + " LIKE '" + lifecycle.ReasonApproval + "%'"))
}

// isPreview selects previews. SQLite has true as 1.
func (b *Base) isPreview() predicate.QueuedTask {
	return func(s *entsql.Selector) {
		s.Where(entsql.ExprP("EXISTS (SELECT 1 FROM " + b.SQL("{s}taskkit_task_plan p WHERE p.task_id = ") + s.C(queuedtask.FieldID) +
			" AND CAST(p.options ->> CAST('preview' AS text) AS text) IN ('true', '1'))"))
	}
}
