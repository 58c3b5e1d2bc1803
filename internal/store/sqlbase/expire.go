package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// ExpireTasks implements [store.Upkeep]. What it reads decides nothing: the statements that end and remove tasks repeat
// the conditions. A task is ended by the two steps of a worker that claims it, as in EndUnknownKinds. What cannot be
// ended or removed yet is read again later, so no task is read at each call.
func (b *Base) ExpireTasks(ctx context.Context, process string, limit int, items int64) (e store.Expired, err error) {
	found, now, err := b.expiring(ctx, limit, &e, items)
	if err != nil || len(found) == 0 {
		return e, err
	}
	var (
		late       []uuid.UUID
		overdue    []uuid.UUID // and have a subscription
		fail       = make(map[uuid.UUID]string)
		old        = make(map[time.Duration][]uuid.UUID)
		next       = make(map[uuid.UUID]time.Time)
		subscribes = make(map[uuid.UUID]bool) // have subscriptions
	)
	for i := range found {
		t := &found[i]
		text, remove, at := t.Decide(now)
		subscribes[t.ID] = t.Options.Notifies()
		next[t.ID] = at
		if t.Options.NotifiesOf(notice.Overdue) && t.Overdue(now) {
			overdue = append(overdue, t.ID)
		}
		switch {
		case text != "":
			late, fail[t.ID] = append(late, t.ID), text
		case remove:
			old[t.Options.Keep] = append(old[t.Options.Keep], t.ID)
			next[t.ID] = now.Add(max(t.Options.Keep, store.ExpireAgain)) // unless it is gone
		}
	}
	err = b.write(ctx, func(q store.Querier) (err error) {
		if e.Failed, err = b.failExpired(ctx, q, process, late, fail); err != nil {
			return err
		}
		subscribed := slices.DeleteFunc(slices.Clone(e.Failed), func(id uuid.UUID) bool { return !subscribes[id] })
		if err := b.announce(ctx, q, notice.Ended, subscribed...); err != nil {
			return err
		}
		open := slices.DeleteFunc(slices.Clone(overdue), func(id uuid.UUID) bool { return slices.Contains(e.Failed, id) })
		if err := b.announce(ctx, q, notice.Overdue, open...); err != nil {
			return err
		}
		for keep, ids := range old {
			gone, err := b.remove(ctx, q, "IN ("+TerminalStatuses()+") AND coalesce(workflow_stopped_date, {now}) < "+b.ago("$2"), ids, keep)
			if err != nil {
				return err
			}
			e.Removed = append(e.Removed, gone...)
		}
		ended := make(map[uuid.UUID]bool, len(e.Failed))
		for _, id := range e.Failed {
			ended[id] = true
		}
		for id, at := range next {
			if fail[id] != "" && !ended[id] {
				at = now.Add(store.ExpireAgain)
			}
			err := do(ctx, q, Step{
				Text: b.SQL("UPDATE {s}taskkit_task_plan SET expiry_date = " + b.instant("$2") + " WHERE task_id = $1"),
				Args: []any{id.String(), optionalTime(at)},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return store.Expired{}, fmt.Errorf("end or remove tasks whose time is over: %w", err)
	}
	return e, nil
}

// expiring reads a page of the tasks whose plan has an expiry that is over, and the time. Their recorded items are at most
// as many as given, or the items of one task.
func (b *Base) expiring(ctx context.Context, limit int, e *store.Expired, items int64) (found []store.ExpiringTask, now time.Time, err error) {
	var recorded int64
	// A volatile function does not bound the scan of an index.
	n, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT q.id, p.options, q.workflow_status, q.checkpoint_seq > 0, q.workflow_stopped_date, q.items_failed + q.items_skipped, {now}
FROM (SELECT task_id, options, expiry_date FROM {s}taskkit_task_plan
  WHERE expiry_date IS NOT NULL AND expiry_date < `+strings.ReplaceAll(b.SQL("{now}"), "clock_timestamp", "statement_timestamp")+`
  ORDER BY expiry_date LIMIT $1) p JOIN {s}taskkit_queued_task q ON q.id = p.task_id ORDER BY p.expiry_date`), []any{int64(limit)}, func(rows *sql.Rows) error {
		var (
			t       store.ExpiringTask
			options json.RawMessage
			status  string
			stopped sql.NullTime
		)
		if err := rows.Scan(&t.ID, sqlrows.JSON(&options), &status, &t.Begun, nullTime{&stopped}, &t.Items, sqlrows.Time(&now)); err != nil || e.More {
			return err
		}
		if e.More = recorded > 0 && recorded+t.Items > items; e.More {
			return nil
		}
		recorded += t.Items
		t.Status = lifecycle.Status(status)
		t.Stopped = stopped.Time
		var err error
		t.Options, err = store.DecodeOptions(options)
		found = append(found, t)
		return err
	})
	if err != nil {
		return nil, now, fmt.Errorf("look for tasks whose time is over: %w", err)
	}
	e.More = e.More || n == limit
	return found, now, nil
}

// failExpired ends late tasks in FAILURE. A task must wait, without a request and without open children, and no worker must have
// begun it, or no live process would claim it: a worker that claims one ends it itself, and calls Abort.
func (b *Base) failExpired(ctx context.Context, q store.Querier, process string, late []uuid.UUID, text map[uuid.UUID]string) (ended []uuid.UUID, err error) {
	if len(late) == 0 {
		return nil, nil
	}
	ended, err = sqlrows.IDs(ctx, q, b.SQL(`WITH picked AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id `+b.anyID("$2")+` AND q.workflow_status`+AsExpression+` = 'QUEUED' AND q.control = ''
    AND (q.fence = 0 OR NOT `+b.known()+") AND NOT "+b.hasOpenChildren()+`
    AND EXISTS (SELECT 1 FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id `+b.lockRowSkipping("q")+`
)
UPDATE {s}taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1, scheduled_by_process = $1,
  scheduling_started_date = {now}, `+ResetStart+`, modified_date = {now}
WHERE id IN (SELECT id FROM picked) AND workflow_status`+AsExpression+` = 'QUEUED' RETURNING id`), process, b.idsArg(late))
	if err != nil {
		return nil, err
	}
	for _, id := range ended {
		err := do(ctx, q, Step{
			Text: b.SQL(`UPDATE {s}taskkit_queued_task SET workflow_status = 'FAILURE', workflow_status_desc = $2, scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, execution_started_date = {now}, workflow_stopped_date = {now}, modified_date = {now}
WHERE id = $1 AND workflow_status` + AsExpression + ` = 'SCHEDULING'`),
			Args: []any{id.String(), text[id]},
		})
		if err != nil {
			return nil, err
		}
	}
	return ended, b.endWaits(ctx, q, ended)
}
