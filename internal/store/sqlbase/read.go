package sqlbase

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent"
	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/ent/taskattempt"
	"taskkit.dev/ent/taskevent"
	"taskkit.dev/ent/taskitem"
	"taskkit.dev/ent/taskresult"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// listed is the default length of a list.
const listed = 100

// limit returns a usable limit.
func limit(n int) int {
	if n <= 0 {
		return listed
	}
	return n
}

// now adds the database's clock to an ent query, as a column of this name.
const now = "database_now"

func (b *Base) withNow() predicate.QueuedTask {
	return func(s *entsql.Selector) { s.AppendSelectExprAs(entsql.Raw(b.SQL("{now}")), now) }
}

// These columns are the time at which the result of a completed task expires, in milliseconds since
// 1970, and whether it has been erased. They are 0 otherwise, since ent cannot read a column
// of which only NULL is known.
const (
	resultExpiry = "result_expiry"
	resultErased = "result_erased"
	hasChildren  = "has_children"
)

// withResult adds these columns to an ent query. A task that is not completed costs no lookup.
func (b *Base) withResult() predicate.QueuedTask {
	expiry := "CAST(extract(epoch FROM r.expiry_date) * 1000.0 AS bigint)"
	if b.Dialect() == dialect.SQLite {
		expiry = "CAST(round((julianday(r.expiry_date) - 2440587.5) * 86400000) AS integer)"
	}
	return func(s *entsql.Selector) {
		of := func(expr string) entsql.Querier {
			return entsql.Raw("CASE WHEN " + s.C(queuedtask.FieldWorkflowStatus) + " = '" + string(lifecycle.Completed) + "' THEN coalesce((SELECT " + expr +
				b.SQL(" FROM {s}taskkit_task_result r WHERE r.task_id = ") + s.C(queuedtask.FieldID) + "), 0) ELSE 0 END")
		}
		s.AppendSelectExprAs(of(expiry), resultExpiry)
		s.AppendSelectExprAs(of("CASE WHEN r.result IS NULL THEN 1 ELSE 0 END"), resultErased)
	}
}

// withChildren adds a column for whether the task has children.
func (b *Base) withChildren() predicate.QueuedTask {
	return func(s *entsql.Selector) {
		s.AppendSelectExprAs(entsql.Raw("CAST(CASE WHEN EXISTS (SELECT 1 FROM "+b.SQL("{s}taskkit_queued_task c WHERE ")+b.childOf("c", s.C(queuedtask.FieldID))+
			" LIMIT 1 OFFSET 0) THEN 1 ELSE 0 END AS bigint)"), hasChildren)
	}
}

// isPreview selects previews. SQLite has true as 1.
func (b *Base) isPreview() predicate.QueuedTask {
	return func(s *entsql.Selector) {
		s.Where(entsql.ExprP("EXISTS (SELECT 1 FROM " + b.SQL("{s}taskkit_task_plan p WHERE p.task_id = ") + s.C(queuedtask.FieldID) +
			" AND CAST(p.options ->> CAST('preview' AS text) AS text) IN ('true', '1'))"))
	}
}

// setResult reads these columns.
func setResult(t *store.Task, r *ent.QueuedTask) error {
	for name, set := range map[string]func(int64){
		resultExpiry: func(ms int64) {
			if ms != 0 {
				at := time.UnixMilli(ms).UTC()
				t.ResultExpires = &at
			}
		},
		resultErased: func(n int64) { t.ResultErased = n != 0 },
	} {
		v, err := r.Value(name)
		if err != nil {
			return err
		}
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("the column %s of task %s is a %T, not an integer", name, r.ID, v)
		}
		set(n)
	}
	return nil
}

// Task implements [store.Reader].
func (b *Base) Task(ctx context.Context, id uuid.UUID) (store.Task, error) {
	ts, err := b.tasks(ctx, store.Filter{IDs: []uuid.UUID{id}, Limit: 1}, true)
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
func (b *Base) Tasks(ctx context.Context, f store.Filter) ([]store.Task, error) {
	return b.tasks(ctx, f, false)
}

// bare are the columns of a task without those that may be large.
var bare = slices.DeleteFunc(slices.Clone(queuedtask.Columns), func(c string) bool {
	return c == queuedtask.FieldExecutionSpec || c == queuedtask.FieldExecutionState
})

// tasks lists tasks; whole ones have their spec and their state.
func (b *Base) tasks(ctx context.Context, f store.Filter, whole bool) ([]store.Task, error) {
	var where []predicate.QueuedTask
	if len(f.IDs) > 0 {
		where = append(where, queuedtask.IDIn(f.IDs...))
	}
	if len(f.Kinds) > 0 {
		where = append(where, queuedtask.ExecutionComponentNameIn(f.Kinds...))
	}
	if len(f.Statuses) > 0 {
		where = append(where, queuedtask.WorkflowStatusIn(f.Statuses...))
	}
	if f.Queue != "" {
		where = append(where, queuedtask.Queue(f.Queue))
	}
	if f.Reference != "" {
		where = append(where, queuedtask.Reference(f.Reference))
	}
	if f.UniqueKey != "" {
		where = append(where, queuedtask.UniqueKey(f.UniqueKey))
	}
	if f.Parent != uuid.Nil {
		where = append(where, queuedtask.ParentID(f.Parent))
	}
	if f.Follows != uuid.Nil {
		where = append(where, queuedtask.FollowsID(f.Follows))
	}
	if f.Previews {
		where = append(where, b.isPreview())
	}
	if f.Code != "" {
		where = append(where, b.hasCode(f.Code))
	}
	if f.EndedFor > 0 {
		where = append(where, b.endedFor(Millis(f.EndedFor)))
	}
	if f.Before != uuid.Nil {
		where = append(where, queuedtask.IDLT(f.Before))
	}
	if f.Owner != uuid.Nil {
		where = []predicate.QueuedTask{b.owned(f.Owner, limit(f.Limit), where)}
	}
	query := b.ent.QueuedTask.Query().Where(append(where, b.withNow(), b.withResult(), b.withChildren())...).
		Order(queuedtask.ByID(entsql.OrderDesc())).Limit(limit(f.Limit))
	if !whole {
		query.Select(bare...)
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	tasks := make([]store.Task, len(rows))
	for i, r := range rows {
		if tasks[i], err = taskOf(r); err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		tasks[i].Preview = f.Previews
		v, err := r.Value(hasChildren)
		if err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		tasks[i].HasChildren = v == int64(1)
	}
	return tasks, nil
}

// taskOf turns ent's row into a reader's.
func taskOf(r *ent.QueuedTask) (store.Task, error) {
	at, err := r.Value(now)
	if err != nil {
		return store.Task{}, err
	}
	var clock time.Time
	if err := sqlrows.Time(&clock).Scan(at); err != nil {
		return store.Task{}, err
	}
	t := store.Task{
		Submitted: store.Submitted{
			Kind: r.ExecutionComponentName, Owner: r.OwnerID, RunAs: r.RunAsID, Queue: r.Queue, Reference: deref(r.Reference), Reason: deref(r.Reason),
			UniqueKey: deref(r.UniqueKey), IdempotencyKey: deref(r.IdempotencyKey), Parent: deref(r.ParentID), Follows: deref(r.FollowsID),
			Traceparent: deref(r.Traceparent), TargetsField: deref(r.TargetsField),
		},
		ID: r.ID, Created: r.CreatedDate, Modified: r.ModifiedDate, CreatedBy: r.CreatedBy, ModifiedBy: r.ModifiedBy,
		Spec: r.ExecutionSpec, State: r.ExecutionState,
		Revision: r.CodecRevision, SpecRevision: r.CodecRevision, Secrets: deref(r.Secrets), Status: r.WorkflowStatus, StatusDetail: deref(r.WorkflowStatusDesc),
		Scheduled: r.SchedulingStartedDate, Started: cmp.Or(r.FirstStartedDate, r.ExecutionStartedDate), LeaseStarted: r.ExecutionStartedDate, Stopped: r.WorkflowStoppedDate,
		Process: deref(r.ScheduledByProcess), Fence: r.Fence, Seq: r.CheckpointSeq, Attempts: r.Attempts,
		NotBefore: r.NotBefore, Wait: r.NotBefore.Sub(clock), Priority: int(r.Priority), Stalled: r.Stalled, WaitingReason: waitingReason(r),
		Control: r.Control, Partial: r.Partial, ControlBy: deref(r.ControlBy), ControlReason: deref(r.ControlReason),
		Progress: lifecycle.Progress{Total: -1, Position: r.Position, Round: r.Round, Deferred: r.Deferred, Done: r.ItemsDone, Failed: r.ItemsFailed, Skipped: r.ItemsSkipped},
		Elapsed:  clock.Sub(r.CreatedDate),
	}
	if r.SpecRevision != nil {
		t.SpecRevision = *r.SpecRevision
	}
	if r.ItemsTotal != nil {
		t.Progress.Total = *r.ItemsTotal
	}
	if r.WorkflowStoppedDate != nil {
		t.Elapsed = r.WorkflowStoppedDate.Sub(r.CreatedDate)
	}
	return t, setResult(&t, r)
}

// waitingReason returns why a task waits. A claim leaves the column as it is.
func waitingReason(r *ent.QueuedTask) string {
	if r.WorkflowStatus != lifecycle.Queued {
		return ""
	}
	return deref(r.WaitingReason)
}

// deref returns what p points at, or the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Matching implements [store.Reader].
func (b *Base) Matching(ctx context.Context, suffix string, n int) ([]uuid.UUID, error) {
	suffix = strings.ToLower(suffix)
	if strings.Trim(suffix, "0123456789abcdef-") != "" {
		return nil, nil // no id ends so
	}
	ids, err := sqlrows.IDs(ctx, b.q, b.SQL("SELECT id FROM {s}taskkit_queued_task WHERE CAST(id AS text) LIKE $1 ORDER BY id DESC LIMIT $2"),
		"%"+suffix, int64(limit(n)))
	if err != nil {
		return nil, fmt.Errorf("find tasks by the end of their id: %w", err)
	}
	return ids, nil
}

// Result implements [store.Reader].
func (b *Base) Result(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	r, err := b.result(ctx, id)
	if r == nil {
		return nil, 0, err
	}
	return r.Result, r.CodecRevision, nil
}

// Fetch implements [store.Reader].
func (b *Base) Fetch(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	r, err := b.result(ctx, id)
	if r == nil {
		return nil, 0, err
	}
	if r.FetchedDate == nil {
		expiry := "{now} + keep_fetched_ms::float8 * interval '1 millisecond'"
		if b.Dialect() == dialect.SQLite {
			expiry = "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', keep_fetched_ms / 1000.0))"
		}
		if _, err := b.q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_result SET fetched_date = {now},
  expiry_date = CASE WHEN keep_fetched_ms IS NOT NULL THEN `+expiry+` END WHERE task_id = $1 AND fetched_date IS NULL`),
			id.String()); err != nil {
			return nil, 0, fmt.Errorf("record that the result of task %s was fetched: %w", id, err)
		}
	}
	return r.Result, r.CodecRevision, nil
}

// result reads the row of a result; nil: the task has none. [store.ErrExpired]: it has been erased.
func (b *Base) result(ctx context.Context, id uuid.UUID) (*ent.TaskResult, error) {
	r, err := b.ent.TaskResult.Query().Where(taskresult.TaskID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		exists, err := b.ent.QueuedTask.Query().Where(queuedtask.ID(id)).Exist(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the result of task %s: %w", id, err)
		}
		if !exists {
			return nil, store.ErrNotFound
		}
		return nil, nil //nolint:nilnil // no result is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of task %s: %w", id, err)
	}
	if r.Result == nil {
		return nil, store.ErrExpired
	}
	return r, nil
}

// Items implements [store.Reader].
func (b *Base) Items(ctx context.Context, id uuid.UUID, outcome store.Outcome, after store.ItemCursor, n int) ([]store.Item, error) {
	beyond := func(s *entsql.Selector) {
		s.Where(entsql.CompositeGT([]string{s.C(taskitem.FieldPosition), s.C(taskitem.FieldID)}, after.Position, after.ID))
	}
	rows, err := b.ent.TaskItem.Query().Where(taskitem.TaskID(id), taskitem.Outcome(string(outcome)), beyond).
		Order(taskitem.ByPosition(), taskitem.ByID()).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the %s items of task %s: %w", outcome, id, err)
	}
	items := make([]store.Item, len(rows))
	for i, r := range rows {
		items[i] = store.Item{
			ID: r.ID, Created: r.CreatedDate, Key: r.Item, Outcome: store.Outcome(r.Outcome),
			Code: r.Code, Detail: r.Detail, Position: r.Position, Attempt: r.Attempt,
		}
	}
	return items, nil
}

// Attempts implements [store.Common]: the newest first.
func (b *Base) Attempts(ctx context.Context, id uuid.UUID, n int) ([]store.Attempt, error) {
	rows, err := b.ent.TaskAttempt.Query().Where(taskattempt.TaskID(id)).
		Order(taskattempt.ByID(entsql.OrderDesc())).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the failed attempts of task %s: %w", id, err)
	}
	as := make([]store.Attempt, len(rows))
	for i, r := range rows {
		as[i] = store.Attempt{
			Created: r.CreatedDate, Process: r.Process, Fence: r.Fence, Seq: r.CheckpointSeq,
			Attempt: r.Attempt, Class: r.Class, Code: r.Code, Detail: r.Detail,
		}
	}
	return as, nil
}

// Events implements [store.Common]: the newest first.
func (b *Base) Events(ctx context.Context, id uuid.UUID, n int) ([]store.Event, error) {
	rows, err := b.ent.TaskEvent.Query().Where(taskevent.TaskID(id)).
		Order(taskevent.ByID(entsql.OrderDesc())).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the requests made of task %s: %w", id, err)
	}
	es := make([]store.Event, len(rows))
	for i, r := range rows {
		es[i] = store.Event{Created: r.CreatedDate, Action: r.Action, Actor: deref(r.Actor), Reason: deref(r.Reason), FromStatus: lifecycle.Status(r.Was)}
	}
	return es, nil
}

// Processes implements [store.Common].
func (b *Base) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	var ps []store.Process
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT id, version, started_date, last_heartbeat_date, dead_after_ms, kinds, queues, slots, busy, draining, safe_mode,
  ended_date, coalesce(ended_reason, ''), presence_lock IS NOT NULL, found_alive_date, {now}
FROM {s}taskkit_task_process WHERE ended_date IS NULL OR ended_date > `)+b.ago("$1")+`
ORDER BY CASE WHEN ended_date IS NULL THEN 0 ELSE 1 END, started_date DESC, id`, []any{Millis(since)}, func(rows *sql.Rows) error {
		var (
			p             store.Process
			clock, ended  time.Time
			foundAlive    time.Time
			deadAfter     int64
			kinds, queues json.RawMessage
		)
		if err := rows.Scan(&p.ID, &p.Version, sqlrows.Time(&p.Started), sqlrows.Time(&p.Heartbeat), &deadAfter, sqlrows.JSON(&kinds), sqlrows.JSON(&queues),
			&p.Slots, &p.Busy, &p.Draining, &p.SafeMode, sqlrows.Time(&ended), &p.EndReason, &p.Present, sqlrows.Time(&foundAlive), sqlrows.Time(&clock)); err != nil {
			return err
		}
		if err := json.Unmarshal(kinds, &p.Kinds); err != nil {
			return fmt.Errorf("kinds of process %s: %w", p.ID, err)
		}
		if err := json.Unmarshal(queues, &p.Queues); err != nil {
			return fmt.Errorf("queues of process %s: %w", p.ID, err)
		}
		p.DeadAfter, p.Silence = time.Duration(deadAfter)*time.Millisecond, clock.Sub(p.Heartbeat)
		if !ended.IsZero() {
			p.Ended, p.Present = &ended, false
		}
		if !foundAlive.IsZero() {
			p.FoundAlive = &foundAlive
		}
		ps = append(ps, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return ps, nil
}

// Counts implements [store.Ops].
func (b *Base) Counts(ctx context.Context, kind string) (map[lifecycle.Status]int64, error) {
	query := b.ent.QueuedTask.Query()
	if kind != "" {
		query.Where(queuedtask.ExecutionComponentName(kind))
	}
	var rows []struct {
		Status lifecycle.Status `json:"workflow_status"`
		Count  int64            `json:"count"`
	}
	if err := query.GroupBy(queuedtask.FieldWorkflowStatus).Aggregate(ent.Count()).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	counts := make(map[lifecycle.Status]int64, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.Count
	}
	return counts, nil
}
