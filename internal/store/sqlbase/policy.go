package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// withPolicy returns a query of the ancestors of the tasks $1 that have a stop policy, in the order of their ids, with these columns and
// this lock.
func (t Statements) withPolicy(columns, lock string) string {
	return t.withOptions(columns, "p.options ->> CAST('stop_after' AS text) IS NOT NULL", lock)
}

// withOptions returns a query of the ancestors of the tasks $1 whose options fulfil a condition, in the order of their ids.
func (t Statements) withOptions(columns, condition, lock string) string {
	return t.SQL(`WITH RECURSIVE above(id) AS (
  SELECT q.parent_id FROM {s}taskkit_queued_task q WHERE q.id ` + t.anyID("$1") + ` AND q.parent_id IS NOT NULL
  UNION SELECT q.parent_id FROM above JOIN {s}taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT ` + columns + ` FROM above JOIN {s}taskkit_queued_task q ON q.id = above.id JOIN {s}taskkit_task_plan p ON p.task_id = q.id
WHERE ` + condition + ` ORDER BY q.id ` + lock)
}

// LockPolicies locks the tasks whose stop policies the writes may reach, and those that the writes pause or stop, before the rows of the writes, as every statement locks
// parents before children. So of two writes at once the later one sees the failed items of both.
func (t Statements) LockPolicies(ctx context.Context, q store.Querier, writes []*store.Write) error {
	ids, query := ofParents(writes), t.withPolicy("1", t.lockRow("q"))
	if watched := ofWatched(writes); len(watched) > 0 {
		ids = append(ids, watched...)
		query = t.withOptions("1", "(p.options ->> CAST('stop_after' AS text) IS NOT NULL OR p.options ->> CAST('policies' AS text) IS NOT NULL)", t.lockRow("q"))
	}
	args := []any{}
	if parts, wholes := ofParts(writes); len(wholes) > 0 {
		ids = append(ids, parts...)
		query = t.withOptions("1", "(p.options ->> CAST('stop_after' AS text) IS NOT NULL OR p.options ->> CAST('policies' AS text) IS NOT NULL OR q.id "+t.anyID("$2")+")", t.lockRow("q"))
		args = append(args, t.idsArg(wholes))
	}
	if len(ids) == 0 || t.dialect == dialect.SQLite { // the caller is the only writer there
		return nil
	}
	if _, err := sqlrows.Count(ctx, q, query, append([]any{t.idsArg(ids)}, args...)...); err != nil {
		return fmt.Errorf("lock the tasks above %d tasks: %w", len(ids), err)
	}
	return nil
}

// ofParts are the tasks of writes that pause or stop the task that theirs is a part of, and these tasks.
func ofParts(writes []*store.Write) (parts, wholes []uuid.UUID) {
	for _, w := range writes {
		if w.Whole != uuid.Nil {
			parts, wholes = append(parts, w.ID), append(wholes, w.Whole)
		}
	}
	return parts, wholes
}

// ofParents are the tasks of writes that check the tasks above.
func ofParents(writes []*store.Write) (ids []uuid.UUID) {
	for _, w := range writes {
		if w.CheckParents {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// checkPolicies adds up the children of each ancestor with a stop policy of tasks whose writes took effect. Where the policy is reached
// it pauses the ancestor and its children. Where an ancestor is paused already, a child that had locked its row meanwhile is paused now,
// with its first failed item after that. It returns the tasks of the writes that are paused by it.
func (t Statements) checkPolicies(ctx context.Context, q store.Querier, writes []*store.Write) (paused []uuid.UUID, err error) {
	ids := ofParents(writes)
	if len(ids) == 0 {
		return nil, nil
	}
	type task struct {
		id     uuid.UUID
		status lifecycle.Status
		policy lifecycle.Conditions
		notify bool
	}
	var (
		above         []task
		reached, late bool
	)
	_, err = sqlrows.Query(ctx, q, t.withPolicy("q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''), p.options", ""), []any{t.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			found   task
			control lifecycle.Control
			by      uuid.NullUUID
			reason  string
			text    json.RawMessage
		)
		if err := rows.Scan(&found.id, &found.status, &control, &by, &reason, sqlrows.JSON(&text)); err != nil {
			return err
		}
		options, err := store.DecodeOptions(text)
		found.notify = options.Notifies()
		switch found.policy.StopAfter = options.StopAfter; {
		case !found.status.Live():
		case lifecycle.TakesPause(control, reason):
			above = append(above, found)
		case control == lifecycle.Pause && lifecycle.PassesOn(control, by.UUID, reason):
			late = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the stop policies above %d tasks: %w", len(ids), err)
	}
	for _, of := range above {
		counts, err := t.sumChildren(ctx, q, []uuid.UUID{of.id})
		if err != nil {
			return nil, fmt.Errorf("count the children of task %s: %w", of.id, err)
		}
		c := counts[of.id]
		if c.AllProcessed() {
			continue
		}
		reason := of.policy.StopReason(c.Progress())
		if reason == "" {
			continue
		}
		made, err := t.requestAll(ctx, q, &governed{id: of.id, status: of.status, parent: true}, requestedOf{control: lifecycle.Pause}, reason)
		if err == nil && made && of.notify {
			err = t.announce(ctx, q, notice.Policy, of.id)
		}
		if err != nil {
			return nil, fmt.Errorf("pause task %s: %w", of.id, err)
		}
		reached = true
	}
	if late {
		if err := t.passOnLate(ctx, q, lifecycle.Pause, ids); err != nil {
			return nil, err
		}
	}
	if !reached && !late {
		return nil, nil
	}
	return sqlrows.IDs(ctx, q, t.SQL("SELECT id FROM {s}taskkit_queued_task WHERE id "+t.anyID("$1")+" AND control = 'PAUSE'"), t.idsArg(ids))
}

// passOnAll passes a request on tasks, r.ids, on to their children, to any depth. The workers reach later the children whose rows are locked.
func (t Statements) passOnAll(ctx context.Context, q store.Querier, r requestedOf) error {
	for len(r.ids) > 0 {
		changed, _, err := t.passOn(ctx, q, &r, passedPage)
		if err != nil {
			return err
		}
		r.ids = changed
	}
	return nil
}

// passOnLate passes the request on the parents of tasks on to these, whose rows were locked when it was passed on before.
func (t Statements) passOnLate(ctx context.Context, q store.Querier, control lifecycle.Control, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	parents, err := sqlrows.IDs(ctx, q, t.SQL("SELECT DISTINCT parent_id FROM {s}taskkit_queued_task WHERE id "+t.anyID("$1")), t.idsArg(ids))
	if err == nil {
		err = t.passOnAll(ctx, q, requestedOf{control: control, ids: parents})
	}
	if err != nil {
		return fmt.Errorf("pass the request on the parents of %d tasks on: %w", len(ids), err)
	}
	return nil
}

// passedPage is how many children one statement pauses or stops with a task whose policy has fired.
const passedPage = 1000
