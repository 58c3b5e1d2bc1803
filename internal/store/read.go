package store

import (
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
	"taskkit.dev/ent/taskfailure"
	"taskkit.dev/ent/taskresult"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/workflow"
)

// listed is how many rows a list has when nothing else is said.
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

func (b *base) withNow() predicate.QueuedTask {
	return func(s *entsql.Selector) { s.AppendSelectExprAs(entsql.Raw(b.sql("{now}")), now) }
}

// Task implements [Operator].
func (b *base) Task(ctx context.Context, id uuid.UUID) (Task, error) {
	ts, err := b.tasks(ctx, Filter{IDs: []uuid.UUID{id}, Limit: 1}, true)
	if err != nil {
		return Task{}, err
	}
	if len(ts) == 0 {
		return Task{}, ErrNotFound
	}
	return ts[0], nil
}

// Tasks implements [Operator].
func (b *base) Tasks(ctx context.Context, f Filter) ([]Task, error) { return b.tasks(ctx, f, false) }

// bare are the columns of a task without those that may be large.
var bare = slices.DeleteFunc(slices.Clone(queuedtask.Columns), func(c string) bool {
	return c == queuedtask.FieldExecutionSpec || c == queuedtask.FieldExecutionState
})

// tasks lists tasks; whole ones have their spec and their state.
func (b *base) tasks(ctx context.Context, f Filter, whole bool) ([]Task, error) {
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
	if f.Before != uuid.Nil {
		where = append(where, queuedtask.IDLT(f.Before))
	}
	if f.Owner != uuid.Nil {
		where = []predicate.QueuedTask{b.owned(f.Owner, limit(f.Limit), where)}
	}
	query := b.ent.QueuedTask.Query().Where(append(where, b.withNow())...).
		Order(queuedtask.ByID(entsql.OrderDesc())).Limit(limit(f.Limit))
	if !whole {
		query.Select(bare...)
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		if tasks[i], err = taskOf(r); err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
	}
	return tasks, nil
}

// taskOf turns ent's row into a reader's.
func taskOf(r *ent.QueuedTask) (Task, error) {
	at, err := r.Value(now)
	if err != nil {
		return Task{}, err
	}
	var clock time.Time
	if err := (moment{&clock}).Scan(at); err != nil {
		return Task{}, err
	}
	t := Task{
		ID: r.ID, Created: r.CreatedDate, Modified: r.ModifiedDate, CreatedBy: r.CreatedBy, ModifiedBy: r.ModifiedBy,
		Owner: r.OwnerID, RunAs: r.RunAsID, Kind: r.ExecutionComponentName, Spec: r.ExecutionSpec, State: r.ExecutionState,
		Revision: r.CodecRevision, SpecRevision: r.CodecRevision, Secrets: deref(r.Secrets), Status: r.WorkflowStatus, Desc: deref(r.WorkflowStatusDesc),
		Scheduled: r.SchedulingStartedDate, Started: r.ExecutionStartedDate, Stopped: r.WorkflowStoppedDate,
		Process: deref(r.ScheduledByProcess), Fence: r.Fence, Seq: r.CheckpointSeq, Attempts: r.Attempts,
		NotBefore: r.NotBefore, Wait: r.NotBefore.Sub(clock), Queue: r.Queue, Priority: int(r.Priority), Stalled: r.Stalled,
		Reference: deref(r.Reference), Reason: deref(r.Reason), UniqueKey: deref(r.UniqueKey),
		IdempotencyKey: deref(r.IdempotencyKey), Control: r.Control, ControlBy: deref(r.ControlBy),
		ControlReason: deref(r.ControlReason), Parent: deref(r.ParentID), Traceparent: deref(r.Traceparent),
		Progress: Progress{Total: -1, Taken: r.ItemsTaken, Done: r.ItemsDone, Failed: r.ItemsFailed, Skipped: r.ItemsSkipped},
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
	return t, nil
}

// deref returns what p points at, or the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Matching implements [Operator].
func (b *base) Matching(ctx context.Context, suffix string, n int) ([]uuid.UUID, error) {
	suffix = strings.ToLower(suffix)
	if strings.Trim(suffix, "0123456789abcdef-") != "" {
		return nil, nil // no id ends so
	}
	ids, err := askIDs(ctx, b.q, b.sql("SELECT id FROM {s}taskkit_queued_task WHERE CAST(id AS text) LIKE $1 ORDER BY id DESC LIMIT $2"),
		"%"+suffix, int64(limit(n)))
	if err != nil {
		return nil, fmt.Errorf("find tasks by the end of their id: %w", err)
	}
	return ids, nil
}

// Result implements [Operator]. A task without a result has a nil one.
func (b *base) Result(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	r, err := b.ent.TaskResult.Query().Where(taskresult.TaskID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		exists, err := b.ent.QueuedTask.Query().Where(queuedtask.ID(id)).Exist(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("read the result of task %s: %w", id, err)
		}
		if !exists {
			return nil, 0, ErrNotFound
		}
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the result of task %s: %w", id, err)
	}
	if r.FetchedDate == nil {
		if _, err := b.q.ExecContext(ctx, b.sql("UPDATE {s}taskkit_task_result SET fetched_date = {now} WHERE task_id = $1 AND fetched_date IS NULL"),
			id.String()); err != nil {
			return nil, 0, fmt.Errorf("note that the result of task %s was fetched: %w", id, err)
		}
	}
	return r.Result, r.CodecRevision, nil
}

// Failures implements [Operator]: in the order of their ids, after one of them.
func (b *base) Failures(ctx context.Context, id, after uuid.UUID, n int) ([]Failure, error) {
	rows, err := b.ent.TaskFailure.Query().Where(taskfailure.TaskID(id), taskfailure.IDGT(after)).
		Order(taskfailure.ByID()).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the failed items of task %s: %w", id, err)
	}
	fs := make([]Failure, len(rows))
	for i, r := range rows {
		fs[i] = Failure{ID: r.ID, Created: r.CreatedDate, Item: r.Item, Code: r.Code, Detail: r.Detail, Attempt: r.Attempt}
	}
	return fs, nil
}

// Attempts implements [Operator]: the newest first.
func (b *base) Attempts(ctx context.Context, id uuid.UUID, n int) ([]Attempt, error) {
	rows, err := b.ent.TaskAttempt.Query().Where(taskattempt.TaskID(id)).
		Order(taskattempt.ByID(entsql.OrderDesc())).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the failed attempts of task %s: %w", id, err)
	}
	as := make([]Attempt, len(rows))
	for i, r := range rows {
		as[i] = Attempt{
			Created: r.CreatedDate, Process: r.Process, Fence: r.Fence, Seq: r.CheckpointSeq,
			Attempt: r.Attempt, Class: r.Class, Code: r.Code, Detail: r.Detail,
		}
	}
	return as, nil
}

// Events implements [Operator]: the newest first.
func (b *base) Events(ctx context.Context, id uuid.UUID, n int) ([]Event, error) {
	rows, err := b.ent.TaskEvent.Query().Where(taskevent.TaskID(id)).
		Order(taskevent.ByID(entsql.OrderDesc())).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list what was asked of task %s: %w", id, err)
	}
	es := make([]Event, len(rows))
	for i, r := range rows {
		es[i] = Event{Created: r.CreatedDate, Action: r.Action, Actor: deref(r.Actor), Reason: deref(r.Reason), Was: workflow.Status(r.Was)}
	}
	return es, nil
}

// Processes implements [Operator].
func (b *base) Processes(ctx context.Context, since time.Duration) ([]Process, error) {
	recent := "ended_date > clock_timestamp() - $1::bigint * interval '1 millisecond'"
	if b.dialect == dialect.SQLite {
		recent = "ended_date > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $1 / 1000.0))"
	}
	var ps []Process
	_, err := ask(ctx, b.q, b.sql(`SELECT id, version, started_date, last_heartbeat_date, dead_after_ms, kinds, queues, slots, busy, draining,
  ended_date, coalesce(ended_reason, ''), {now}
FROM {s}taskkit_task_process WHERE ended_date IS NULL OR `)+recent+`
ORDER BY CASE WHEN ended_date IS NULL THEN 0 ELSE 1 END, started_date DESC, id`, []any{millis(since)}, func(rows *sql.Rows) error {
		var (
			p             Process
			clock, ended  time.Time
			deadAfter     int64
			kinds, queues json.RawMessage
		)
		if err := rows.Scan(&p.ID, &p.Version, moment{&p.Started}, moment{&p.Heartbeat}, &deadAfter, raw{&kinds}, raw{&queues},
			&p.Slots, &p.Busy, &p.Draining, moment{&ended}, &p.Why, moment{&clock}); err != nil {
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
			p.Ended = &ended
		}
		ps = append(ps, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return ps, nil
}

// Counts implements [Operator].
func (b *base) Counts(ctx context.Context, kind string) (map[workflow.Status]int64, error) {
	query := b.ent.QueuedTask.Query()
	if kind != "" {
		query.Where(queuedtask.ExecutionComponentName(kind))
	}
	var rows []struct {
		Status workflow.Status `json:"workflow_status"`
		Count  int64           `json:"count"`
	}
	if err := query.GroupBy(queuedtask.FieldWorkflowStatus).Aggregate(ent.Count()).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	counts := make(map[workflow.Status]int64, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.Count
	}
	return counts, nil
}
