package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent"
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
	ids, err := sqlrows.IDs(ctx, b.q, b.SQL("SELECT id FROM (SELECT id FROM {s}taskkit_queued_task ORDER BY id DESC LIMIT "+strconv.Itoa(store.MatchingRead)+
		") n WHERE CAST(id AS text) LIKE $1 ORDER BY id DESC LIMIT $2"), "%"+suffix, int64(limit(n)))
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

// FailedItems implements [store.Reader]. A planner that compares with both times may think that few rows lie between them, and sort all of
// these, so what is too old is left out here.
func (b *Base) FailedItems(ctx context.Context, from time.Time, before store.FailedItem, n int) ([]store.FailedItem, error) {
	var items []store.FailedItem
	_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT task_id, created_date, id, created_date >= ")+b.instant("$1")+b.SQL(" FROM {s}taskkit_task_item WHERE outcome <> 'skipped' AND outcome <> 'deferred'")+
		" AND (created_date, id) < ("+b.instant("$2")+", "+b.id("$3")+") ORDER BY created_date DESC, id DESC LIMIT $4",
		[]any{optionalTime(from), optionalTime(before.Created), before.ID.String(), int64(limit(n))}, func(rows *sql.Rows) error {
			var (
				i     store.FailedItem
				young bool
			)
			err := rows.Scan(&i.Task, sqlrows.Time(&i.Created), &i.ID, &young)
			if young {
				items = append(items, i)
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list the items that have failed since %s: %w", from.UTC().Format(time.RFC3339), err)
	}
	return items, nil
}

// ItemRecords implements [store.Reader]. It compares as [Base.keyed] does, for the same reason, and leaves out what is too old as
// FailedItems does.
func (b *Base) ItemRecords(ctx context.Context, key string, age time.Duration, before store.ItemRecord, n int) ([]store.ItemRecord, error) {
	if before.Created.IsZero() {
		before.Created = store.Forever
	}
	where, order := "item = $1 AND (created_date, id) < ("+b.instant("$2")+", "+b.id("$3")+")", ""
	if b.Dialect() == dialect.Postgres {
		where, order = "item >= (SELECT $1::text) AND (item, created_date, id) < ((SELECT $1::text), "+b.instant("$2")+", "+b.id("$3")+")", "item DESC, "
	}
	milliseconds := Millis(age)
	if age > 0 {
		milliseconds = max(milliseconds, 1)
	}
	var records []store.ItemRecord
	_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT task_id, id, created_date, item, outcome, code, detail, position, attempt, CAST($5 AS bigint) <= 0 OR created_date >= ")+b.ago("$5")+
		b.SQL(" FROM {s}taskkit_task_item WHERE ")+where+" ORDER BY "+order+"created_date DESC, id DESC LIMIT $4",
		[]any{key, optionalTime(before.Created), before.ID.String(), int64(limit(n)), milliseconds}, func(rows *sql.Rows) error {
			var (
				r     store.ItemRecord
				young bool
			)
			err := rows.Scan(&r.Task, &r.ID, sqlrows.Time(&r.Created), &r.Key, &r.Outcome, &r.Code, &r.Detail, &r.Position, &r.Attempt, &young)
			if young {
				records = append(records, r)
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list what became of an item in all tasks: %w", err)
	}
	return records, nil
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
		es[i] = store.Event{Created: r.CreatedDate, Action: r.Action, Actor: deref(r.Actor), Reason: deref(r.Reason), FromStatus: lifecycle.Status(r.Was), Worker: deref(r.Name)}
	}
	return es, nil
}

// Processes implements [store.Common].
func (b *Base) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	var ps []store.Process
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT id, version, started_date, last_heartbeat_date, dead_after_ms, kinds, queues, slots, max_attempts, coalesce(b.tasks, 0), draining, safe_mode,
  ended_date, coalesce(ended_reason, ''), presence_lock IS NOT NULL, found_alive_date, {now}
FROM {s}taskkit_task_process LEFT JOIN (SELECT scheduled_by_process, count(*) AS tasks FROM {s}taskkit_queued_task
  WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') GROUP BY scheduled_by_process) b ON b.scheduled_by_process = id
WHERE ended_date IS NULL OR ended_date > `)+b.ago("$1")+`
ORDER BY CASE WHEN ended_date IS NULL THEN 0 ELSE 1 END, started_date DESC, id`, []any{Millis(since)}, func(rows *sql.Rows) error {
		var (
			p             store.Process
			clock, ended  time.Time
			foundAlive    time.Time
			deadAfter     int64
			kinds, queues json.RawMessage
		)
		if err := rows.Scan(&p.ID, &p.Version, sqlrows.Time(&p.Started), sqlrows.Time(&p.Heartbeat), &deadAfter, sqlrows.JSON(&kinds), sqlrows.JSON(&queues),
			&p.Slots, &p.MaxAttempts, &p.Busy, &p.Draining, &p.SafeMode, sqlrows.Time(&ended), &p.EndReason, &p.Present, sqlrows.Time(&foundAlive), sqlrows.Time(&clock)); err != nil {
			return err
		}
		if err := json.Unmarshal(kinds, &p.Kinds); err != nil {
			return fmt.Errorf("kinds of process %s: %w", p.ID, err)
		}
		if err := json.Unmarshal(queues, &p.Queues); err != nil {
			return fmt.Errorf("queues of process %s: %w", p.ID, err)
		}
		p.Busy = min(p.Busy, p.Slots)
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

// Counts implements [store.Ops]. The bound is a constant of the statement, by which the planner sees that the order of the ids is
// cheaper than a sort.
func (b *Base) Counts(ctx context.Context, kind string, read int) (counts map[lifecycle.Status]int64, exact bool, err error) {
	counts = make(map[lifecycle.Status]int64)
	all := 0
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT workflow_status, count(*) FILTER (WHERE CAST($1 AS text) IN ('', execution_component_name)), count(*)
FROM (SELECT workflow_status, execution_component_name FROM {s}taskkit_queued_task ORDER BY id DESC LIMIT `+strconv.Itoa(read)+`) n GROUP BY workflow_status`),
		[]any{kind}, func(rows *sql.Rows) error {
			var (
				status   lifecycle.Status
				n, every int
			)
			err := rows.Scan(&status, &n, &every)
			all += every
			if n > 0 {
				counts[status] = int64(n)
			}
			return err
		})
	if err != nil {
		return nil, false, fmt.Errorf("count tasks: %w", err)
	}
	return counts, all < read, nil
}
