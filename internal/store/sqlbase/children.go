package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Family implements [store.Common].
func (b *Base) Family(ctx context.Context, l store.Lease) (f store.Family, err error) {
	var (
		open, seen, seq sql.NullInt64
		policy          sql.NullString
		waits, retry    sql.NullBool
		ending          json.RawMessage
	)
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT `+b.countChildren("o.id", openStatuses)+`,
  `+b.countChildren("o.id", failedStatuses)+`,
  p.open_at_most, p.on_failure, p.failed_seen, p.checkpoint_seq, p.waits, p.retry, p.ending, p.memo
FROM (SELECT `+b.id("$1")+` AS id) o LEFT JOIN {s}taskkit_task_parent p ON p.task_id = o.id`), []any{l.ID.String()}, func(rows *sql.Rows) error {
		return rows.Scan(&f.Open, &f.Failed, &open, &policy, &seen, &seq, &waits, &retry, sqlrows.JSON(&ending), sqlrows.JSON(&f.Memo))
	})
	if err == nil && len(ending) > 0 {
		f.Ending = new(store.Ending)
		err = json.Unmarshal(ending, f.Ending)
	}
	if err != nil {
		return store.Family{}, fmt.Errorf("read the children of task %s: %w", l.ID, err)
	}
	f.Retry = retry.Bool
	if waits.Bool && seq.Int64 == l.Seq {
		f.Wait = &store.Wait{OpenAtMost: open.Int64, OnFailure: store.OnFailure(policy.String), Seen: seen.Int64, Ending: f.Ending}
	}
	return f, nil
}

// Children implements [store.Common].
func (b *Base) Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error) {
	children, err := b.children(ctx, "q.parent_id = $1 AND q.parent_id IS NOT NULL AND q.id > $2", states,
		parent.String(), after.String(), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("list the children of task %s: %w", parent, err)
	}
	return children, nil
}

// ChildrenHaving implements [store.Reader].
func (b *Base) ChildrenHaving(ctx context.Context, parent, after uuid.UUID, limit int, outcome store.Outcome) ([]store.ChildTask, error) {
	has := map[store.Outcome]string{
		store.ItemFailed: "q.items_failed > 0", store.ItemSkipped: "q.items_skipped > 0", store.ItemSucceeded: "q.items_done > 0",
		store.ItemDeferred:    "(q.deferred OR q.round > 0)",
		store.ItemUnprocessed: "(q.workflow_status <> 'COMPLETED' OR q.partial)",
	}[outcome]
	children, err := b.children(ctx, "q.parent_id = $1 AND q.parent_id IS NOT NULL AND q.id > $2 AND ("+has+" OR "+isParent+")", false,
		parent.String(), after.String(), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("list the children of task %s with %s items: %w", parent, outcome, err)
	}
	return children, nil
}

// FailedChild implements [store.Common].
func (b *Base) FailedChild(ctx context.Context, parent uuid.UUID) (store.ChildTask, error) {
	children, err := b.children(ctx, b.childOf("q", "$1")+" AND "+inStatus("q", failedStatuses)+" AND q.id > $2", false, parent.String(), uuid.Nil.String(), int64(1))
	switch {
	case err != nil:
		return store.ChildTask{}, fmt.Errorf("read a failed child of task %s: %w", parent, err)
	case len(children) == 0:
		return store.ChildTask{}, store.ErrNotFound
	}
	return children[0], nil
}

// isParent selects tasks q that have children.
const isParent = "(SELECT f.task_id FROM {s}taskkit_task_parent f WHERE f.task_id = q.id) IS NOT NULL"

// children lists the children of a condition, in the order of their ids. $3 is their most. It has no joins: for them PostgreSQL would read all children
// of a parent and sort them, where a generic plan expects few.
func (b *Base) children(ctx context.Context, where string, states bool, args ...any) (children []store.ChildTask, err error) {
	state := "NULL"
	if states {
		state = "q.execution_state"
	}
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT q.id, q.execution_component_name, q.workflow_status, q.partial, coalesce(q.workflow_status_desc, ''), `+state+`,
  q.codec_revision, `+ProgressColumns+`, `+firstStart+`, q.workflow_stopped_date,
  (SELECT p.options FROM {s}taskkit_task_plan p WHERE p.task_id = q.id), `+isParent+`
FROM {s}taskkit_queued_task q
WHERE `+where+` ORDER BY q.id LIMIT $3`), args, func(rows *sql.Rows) error {
		var (
			c       store.ChildTask
			options json.RawMessage
			at      [2]sql.NullTime
		)
		err := rows.Scan(slices.Concat(
			[]any{&c.ID, &c.Kind, &c.Status, &c.Partial, &c.StatusDetail, sqlrows.JSON(&c.State), &c.Revision},
			scanProgress(&c.Progress),
			[]any{nullTime{&at[0]}, nullTime{&at[1]}, sqlrows.JSON(&options), &c.HasChildren})...)
		if err != nil {
			return err
		}
		o, err := store.DecodeOptions(options)
		if o.Child != nil {
			c.Child = *o.Child
		}
		for i, to := range []**time.Time{&c.Started, &c.Stopped} {
			if at[i].Valid {
				*to = &at[i].Time
			}
		}
		children = append(children, c)
		return err
	})
	return children, err
}

// nullTime scans a time that may be null, in the form of either database.
type nullTime struct{ to *sql.NullTime }

// Scan implements [sql.Scanner].
func (n nullTime) Scan(v any) error {
	if v == nil {
		return nil
	}
	n.to.Valid = true
	return sqlrows.Time(&n.to.Time).Scan(v)
}

// WakeParents implements [store.Common]. The wait is over when it belongs to the task's
// fence and checkpoint_seq: a statement that waited for the row of a task that has gone on
// since does not find it. The rows are locked in the order of their ids, and none is stepped
// over: see docs/adr/0021-children.md.
func (b *Base) WakeParents(ctx context.Context, parents []uuid.UUID) (woken []uuid.UUID, err error) {
	if len(parents) == 0 {
		return nil, nil
	}
	err = b.write(ctx, func(q store.Querier) (err error) {
		woken, err = sqlrows.IDs(ctx, q, b.SQL(`WITH over AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q JOIN {s}taskkit_task_parent p ON p.task_id = q.id
  WHERE q.id `+b.anyID("$1")+` AND p.waits AND q.fence = p.fence AND q.checkpoint_seq = p.checkpoint_seq
    AND q.workflow_status`+AsExpression+` = 'QUEUED' AND q.waiting_reason IN ('`+lifecycle.ReasonChildren+`', '`+lifecycle.ReasonEndingChildren+`')
    AND (CASE WHEN p.open_at_most > 0 THEN `+b.countChildren("q.id", openStatuses)+` <= p.open_at_most
        ELSE NOT `+b.hasOpenChildren()+` END
      OR p.on_failure = 'pause' AND `+b.countChildren("q.id", failedStatuses)+` > p.failed_seen)
  ORDER BY q.id `+b.lockRow("q")+`
)
UPDATE {s}taskkit_queued_task SET not_before = {now}, waiting_reason = '`+lifecycle.ReasonChildrenEnded+`', modified_date = {now}
WHERE id IN (SELECT id FROM over) RETURNING id`), b.idsArg(parents))
		if err != nil || len(woken) == 0 {
			return err
		}
		return b.notify(ctx, q, "children")
	})
	if err != nil {
		return nil, fmt.Errorf("wake %d parents: %w", len(parents), err)
	}
	return woken, nil
}

// RetryChildren implements [store.Sessions].
func (b *Base) RetryChildren(ctx context.Context, l store.Lease, limit int) (retried int, err error) {
	err = b.write(ctx, func(q store.Querier) error {
		where := "id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status" + AsExpression + " IN ('SCHEDULING', 'EXECUTING')"
		query := "SELECT 1 FROM {s}taskkit_queued_task q WHERE " + where + " " + b.lockRow("q")
		if b.Dialect() == dialect.SQLite {
			query = writerFirst(where, "1")
		}
		n, err := sqlrows.Count(ctx, q, b.SQL(query), l.ID.String(), l.Fence, l.Seq)
		if err == nil && n == 0 {
			err = store.ErrLost
		}
		if err != nil {
			return err
		}
		change, err := lifecycle.Decide(lifecycle.Found{Status: lifecycle.Failure}, lifecycle.ActRetry)
		if err != nil {
			return err
		}
		failed, err := b.lockFailed(ctx, q, l.ID, limit)
		if err != nil {
			return err
		}
		if retried = len(failed[lifecycle.Failure]) + len(failed[lifecycle.Error]); retried < limit {
			if _, err := q.ExecContext(ctx, b.SQL("UPDATE {s}taskkit_task_parent SET retry = false WHERE task_id = $1"), l.ID.String()); err != nil {
				return err
			}
		}
		if retried == 0 {
			return nil
		}
		if err := b.forgetSums(ctx, q, l.ID); err != nil {
			return err
		}
		for _, was := range []lifecycle.Status{lifecycle.Failure, lifecycle.Error} {
			if err := b.requeue(ctx, q, failed[was], change, was); err != nil {
				return err
			}
		}
		return b.notify(ctx, q, "children")
	})
	if err != nil {
		return 0, fmt.Errorf("retry the failed children of task %s: %w", l.ID, err)
	}
	return retried, nil
}

// lockFailed locks the failed children of a task that may be retried, at most limit, and
// returns them by their status. What continues a child, or has its unique key, forbids it. Of
// failed ones with the same key it is the last.
func (t Statements) lockFailed(ctx context.Context, q store.Querier, parent uuid.UUID, limit int) (map[lifecycle.Status][]uuid.UUID, error) {
	failed := make(map[lifecycle.Status][]uuid.UUID)
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT q.id, q.workflow_status FROM {s}taskkit_queued_task q WHERE `+t.childOf("q", "$1")+` AND `+inStatus("q", failedStatuses)+` AND q.control <> 'DELETE'
  AND NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
    AND o.idempotency_key = $2 || CAST(q.id AS text))
  AND (q.unique_key IS NULL
    OR NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
      AND o.unique_key = q.unique_key AND o.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
    AND NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task o WHERE `+t.childOf("o", "$1")+` AND `+inStatus("o", failedStatuses)+`
      AND o.execution_component_name = q.execution_component_name AND o.unique_key = q.unique_key AND o.id > q.id))
ORDER BY q.id LIMIT $3 `+t.lockRow("q")), []any{parent.String(), store.ContinuationPrefix, int64(limit)}, func(rows *sql.Rows) error {
		var (
			id  uuid.UUID
			was lifecycle.Status
		)
		err := rows.Scan(&id, &was)
		failed[was] = append(failed[was], id)
		return err
	})
	return failed, err
}

// requeue makes tasks open again that had ended in a status.
func (t Statements) requeue(ctx context.Context, q store.Querier, ids []uuid.UUID, change lifecycle.Change, was lifecycle.Status) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_queued_task SET "+assignments(change)+", modified_date = {now} WHERE id "+t.anyID("$1")), t.idsArg(ids))
	if err != nil {
		return err
	}
	parents, err := sqlrows.IDs(ctx, q, t.SQL("SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id "+t.anyID("$1")+" AND EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE "+t.childOf("c", "q.id")+" LIMIT 1 OFFSET 0)"), t.idsArg(ids))
	if err != nil {
		return err
	}
	for _, id := range parents {
		if err := t.markRetry(ctx, q, id); err != nil {
			return err
		}
	}
	return t.recordEvents(ctx, q, ids, lifecycle.ActRetry, uuid.Nil, was)
}

// endWaits records that tasks have ended, which have waited for their children perhaps.
func (t Statements) endWaits(ctx context.Context, q store.Querier, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	return do(ctx, q, Step{
		Text: t.SQL("UPDATE {s}taskkit_task_parent SET waits = false WHERE task_id " + t.anyID("$1") + " AND waits"),
		Args: []any{t.idsArg(ids)},
	})
}

// markRetry records, with the retry of a task, that its failed children are to be retried by
// the session that comes next. What the task has waited for counts again.
func (t Statements) markRetry(ctx context.Context, q store.Querier, id uuid.UUID) error {
	_, err := q.ExecContext(ctx, t.SQL(`INSERT INTO {s}taskkit_task_parent (id, task_id, retry)
SELECT `+t.id("$1")+`, `+t.id("$2")+`, true WHERE EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE `+t.childOf("c", t.id("$2"))+`)
ON CONFLICT (task_id) DO UPDATE SET retry = true, ending = NULL, waits = taskkit_task_parent.checkpoint_seq >= 0`), store.NewID().String(), id.String())
	return err
}

// setMaxParallel stores how many buckets of a task may be open, and makes a wait for fewer of
// them end accordingly. The caller has locked the row of the task.
func (t Statements) setMaxParallel(ctx context.Context, q store.Querier, id uuid.UUID, text *json.RawMessage, n int) error {
	changed, err := store.WithMaxParallel(*text, n)
	if err != nil {
		return err
	}
	*text = json.RawMessage(changed)
	if _, err = q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_plan SET options = $2 WHERE task_id = $1"), id.String(), changed); err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_parent SET open_at_most = $2 WHERE task_id = $1 AND waits"), id.String(), int64(n-1))
	return err
}

// recordParent stores the Wait, Memo and HasChildren of a write with the sums of the children, and pauses the task if
// Pause is set. It reports whether it did.
func (t Statements) recordParent(ctx context.Context, q store.Querier, w *store.Write) (paused bool, err error) {
	switch {
	case w.Wait != nil:
		paused, err = t.recordWait(ctx, q, w)
	case w.Memo != nil && w.Checkpoint:
		_, err = q.ExecContext(ctx, t.SQL(`INSERT INTO {s}taskkit_task_parent (id, task_id, memo) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET memo = excluded.memo`), store.NewID().String(), w.ID.String(), jsonArg(w.Memo))
	}
	switch {
	case err != nil:
	case w.HasChildren && w.To.Terminal():
		err = t.endWaits(ctx, q, []uuid.UUID{w.ID})
	case w.HasChildren && w.Wait == nil:
		_, err = q.ExecContext(ctx, t.SQL(`INSERT INTO {s}taskkit_task_parent (id, task_id, waits) VALUES ($1, $2, true)
ON CONFLICT (task_id) DO UPDATE SET waits = true`), store.NewID().String(), w.ID.String())
	}
	if err == nil && (w.Wait != nil || w.HasChildren) {
		err = t.recordSums(ctx, q, w)
	}
	if err != nil {
		return false, fmt.Errorf("record what task %s has of its children: %w", w.ID, err)
	}
	return paused, nil
}

// recordWait stores the Wait of a write with its Memo, and pauses the task if Pause is set. It reports whether it did.
func (t Statements) recordWait(ctx context.Context, q store.Querier, w *store.Write) (paused bool, err error) {
	ending, err := encodeEnding(w.Wait.Ending)
	if err != nil {
		return false, err
	}
	seq := w.Seq
	if w.Checkpoint {
		seq++
	}
	_, err = q.ExecContext(ctx, t.SQL(`INSERT INTO {s}taskkit_task_parent
  (id, task_id, open_at_most, on_failure, failed_seen, fence, checkpoint_seq, waits, ending, memo)
VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8, $9)
ON CONFLICT (task_id) DO UPDATE SET open_at_most = excluded.open_at_most, on_failure = excluded.on_failure,
  failed_seen = excluded.failed_seen, fence = excluded.fence, checkpoint_seq = excluded.checkpoint_seq, waits = true,
  ending = excluded.ending, memo = coalesce(excluded.memo, taskkit_task_parent.memo)`),
		store.NewID().String(), w.ID.String(), w.Wait.OpenAtMost, string(w.Wait.OnFailure), w.Wait.Seen, w.Fence, seq, ending, jsonArg(w.Memo))
	if err != nil || w.Pause == "" {
		return false, err
	}
	return t.pause(ctx, q, w, w.Pause)
}

func encodeEnding(e *store.Ending) (any, error) {
	if e == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	text, err := json.Marshal(e)
	return string(text), err
}

// jsonArg is JSON as a parameter; none is NULL.
func jsonArg(j json.RawMessage) any {
	if j == nil {
		return nil
	}
	return string(j)
}

// OpenParents returns the tasks with open children among the tasks that are to end and may
// have children. It locks their rows in a statement before the one that reads the children:
// one statement that waited for the lock would still see the children as they were.
func (t Statements) OpenParents(ctx context.Context, q store.Querier, writes []*store.Write) (map[uuid.UUID]bool, error) {
	var ids []uuid.UUID
	for _, w := range writes {
		if w.HasChildren && w.To.Terminal() {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if t.dialect == dialect.Postgres { // on SQLite the caller is the only writer
		if _, err := sqlrows.Count(ctx, q, t.SQL("SELECT 1 FROM {s}taskkit_queued_task q WHERE q.id "+t.anyID("$1")+" ORDER BY q.id "+t.lockRow("q")), t.idsArg(ids)); err != nil {
			return nil, fmt.Errorf("lock %d parents: %w", len(ids), err)
		}
	}
	found, err := sqlrows.IDs(ctx, q, t.SQL("SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id "+t.anyID("$1")+" AND "+t.hasOpenChildren()), t.idsArg(ids))
	if err != nil {
		return nil, fmt.Errorf("look for open children of %d tasks: %w", len(ids), err)
	}
	open := make(map[uuid.UUID]bool, len(found))
	for _, id := range found {
		open[id] = true
	}
	return open, nil
}
