package sqlbase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// page bounds how many rows a statement of the reaper takes.
const page = 500

// Reap implements [store.Upkeep]. A page is a transaction.
func (b *Base) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	var r store.Reaped
	steps := []Step{b.declareDead(absent, &r.Dead)}
	for {
		var released []uuid.UUID
		err := b.write(ctx, func(q store.Querier) (err error) {
			released, err = b.releaseLost(ctx, q, steps...)
			return err
		})
		if err != nil {
			if steps != nil {
				r.Dead = nil
			}
			return r, fmt.Errorf("look for dead processes: %w", err)
		}
		steps = nil
		r.Released = append(r.Released, released...)
		if len(released) < page {
			break
		}
	}
	var (
		limited bool
		parents []uuid.UUID
	)
	for more := true; more; {
		var ended []uuid.UUID
		err := b.write(ctx, func(q store.Querier) (err error) {
			ended, more, err = b.applyRequests(ctx, q)
			if err != nil || more {
				return err
			}
			return do(ctx, q, b.areLimits(&limited), b.waitingParents(uuid.Nil, &parents))
		})
		if err != nil {
			return r, fmt.Errorf("apply the requests of unattended tasks: %w", err)
		}
		r.Ended = append(r.Ended, ended...)
	}
	if limited {
		if err := b.reapLimits(ctx, &r); err != nil {
			return r, err
		}
	}
	return r, b.reapParents(ctx, &r, parents)
}

// waitingParents reads a page of the parents that wait.
func (b *Base) waitingParents(after uuid.UUID, to *[]uuid.UUID) Step {
	return Step{
		Text: b.SQL(`SELECT task_id FROM {s}taskkit_task_parent WHERE waits AND task_id > $1 ORDER BY task_id LIMIT $2`),
		Args: []any{after.String(), int64(page)},
		Row:  idInto(to),
		What: "look for waiting parents",
	}
}

// reapParents makes the check of each waiting parent that a worker which died may not have
// made, and passes requests on that have not reached all children. The first page of parents has been read.
func (b *Base) reapParents(ctx context.Context, r *store.Reaped, parents []uuid.UUID) error {
	for len(parents) > 0 {
		last, whole := parents[len(parents)-1], len(parents) == page
		woken, err := b.WakeParents(ctx, parents)
		if err != nil {
			return err
		}
		r.Woken = append(r.Woken, woken...)
		if parents, err = b.differing(ctx, parents); err != nil {
			return err
		}
		passed, _, err := b.PassOn(ctx, parents, page)
		if err != nil {
			return err
		}
		r.Passed = append(r.Passed, passed...)
		parents = nil
		if !whole {
			break
		}
		if err := do(ctx, b.q, b.waitingParents(last, &parents)); err != nil {
			return err
		}
	}
	return nil
}

// differing returns the parents with a child that the request on them may not
// have reached.
func (b *Base) differing(ctx context.Context, parents []uuid.UUID) ([]uuid.UUID, error) {
	var conditions []string
	for _, c := range lifecycle.Controls() {
		conditions = append(conditions, "q.control = '"+string(c)+"' AND "+differs("c", c))
	}
	ids, err := sqlrows.IDs(ctx, b.q, b.SQL(`SELECT q.id FROM {s}taskkit_queued_task q
WHERE q.id `+b.anyID("$1")+` AND EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE `+b.childOf("c", "q.id")+` AND `+inStatus("c", openStatuses)+`
  AND (`+strings.Join(conditions, " OR ")+") LIMIT 1 OFFSET 0)"), b.idsArg(parents))
	if err != nil {
		return nil, fmt.Errorf("look for children that a request has not reached: %w", err)
	}
	return ids, nil
}

// silent is the condition that the last heartbeat of a process p is longer ago than its
// limit, by the database's clock.
func (t Statements) silent() string {
	if t.dialect == dialect.SQLite {
		return "(julianday('now') - julianday(p.last_heartbeat_date)) * 86400000.0 > p.dead_after_ms"
	}
	return "p.last_heartbeat_date < clock_timestamp() - p.dead_after_ms::float8 * interval '1 millisecond'"
}

// known is the condition that a live process would claim task q.
func (t Statements) known() string { return t.knownBy("AND NOT p.safe_mode ") }

// knownBy is the condition that a live process p has registered the kind and the revision of q and serves its
// queue; and adds to the condition on p.
func (t Statements) knownBy(and string) string {
	if t.dialect == dialect.SQLite {
		return `EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL ` + and + `AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue))`
	}
	return t.SQL(`EXISTS (SELECT FROM {s}taskkit_task_process p
  WHERE p.ended_date IS NULL ` + and + `AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))`)
}

// release does what the reaper does first, in the caller's transaction: it declares silent processes dead, and releases all lost tasks.
func (b *Base) release(ctx context.Context, q store.Querier) error {
	var dead []string
	steps := []Step{b.declareDead(nil, &dead)}
	for {
		released, err := b.releaseLost(ctx, q, steps...)
		if err != nil || len(released) < page {
			return err
		}
		steps = nil
	}
}

// declareDead declares silent and absent processes dead.
func (b *Base) declareDead(absent []int64, dead *[]string) Step {
	return Step{
		Text: b.SQL(`WITH gone AS MATERIALIZED (
  SELECT p.id, CASE WHEN ` + b.silent() + ` THEN '` + store.EndedSilent + `' ELSE '` + store.EndedAbsent + `' END AS reason FROM {s}taskkit_task_process p
  WHERE p.ended_date IS NULL AND (` + b.silent() + ` OR ` + b.absent("$1", "$2") + `) ORDER BY p.id ` + b.skipLocked() + `
)
UPDATE {s}taskkit_task_process SET ended_date = {now}, ended_reason = (SELECT reason FROM gone WHERE gone.id = taskkit_task_process.id)
WHERE id IN (SELECT id FROM gone) RETURNING id`),
		Args: []any{b.numbersArg(absent), Millis(store.AbsentFor)},
		Row:  idInto(dead),
	}
}

// releaseLost makes these steps, releases a page of the tasks in flight that no live process has, and records an event
// of each. A row whose batch is in progress is locked and stepped over; while its server keeps that transaction
// alive the batch may still commit.
//
// What becomes of a task is [lifecycle.Row.ReleaseAsLost].
func (b *Base) releaseLost(ctx context.Context, q store.Querier, first ...Step) ([]uuid.UUID, error) {
	const lost = `workflow_status IN ('SCHEDULING', 'EXECUTING') AND NOT EXISTS (
    SELECT 1 FROM {s}taskkit_task_process p WHERE p.id = scheduled_by_process AND p.ended_date IS NULL)`
	var (
		ids    []uuid.UUID
		events []*eventRow
	)
	err := do(ctx, q, append(first, Step{
		Text: b.SQL(`SELECT q.id, coalesce(q.scheduled_by_process, ''), q.workflow_status, q.items_done + q.items_failed + q.items_skipped,
  (SELECT p.last_heartbeat_date FROM {s}taskkit_task_process p WHERE p.id = q.scheduled_by_process), {now}
FROM {s}taskkit_queued_task q WHERE ` + lost + ` ORDER BY q.created_date LIMIT $1 ` + b.skipLocked()),
		Args: []any{int64(page)},
		Row: func(scan func(...any) error) error {
			e := &eventRow{action: lifecycle.ActLost}
			var (
				id             uuid.UUID
				items          int64
				heartbeat, now time.Time
			)
			if err := scan(&id, &e.worker, &e.was, &items, sqlrows.Time(&heartbeat), sqlrows.Time(&now)); err != nil {
				return err
			}
			e.task, e.reason = id.String(), store.LostReason(items, heartbeat, now)
			ids, events = append(ids, id), append(events, e)
			return nil
		},
		What: "look for tasks of dead processes",
	})...)
	if err == nil {
		err = flush(ctx, q)
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var released []uuid.UUID
	err = do(ctx, q, Step{
		Text: b.SQL(`UPDATE {s}taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL, stalled = true,
  attempts = CASE WHEN workflow_status = 'SCHEDULING' AND attempts > 1 THEN attempts - 1 ELSE attempts END, not_before = {now}, waiting_reason = '` + lifecycle.ReasonWorkerLost + `', modified_date = {now}
WHERE id ` + b.anyID("$1") + ` AND ` + lost + ` RETURNING id`),
		Args: []any{b.idsArg(ids)},
		Row:  idInto(&released),
		What: "release tasks of dead processes",
	})
	if err == nil {
		err = flush(ctx, q)
	}
	events = slices.DeleteFunc(events, func(e *eventRow) bool { return !slices.Contains(released, uuid.MustParse(e.task)) })
	if err == nil {
		err = recordRows(ctx, b.Statements, q, &recordedEvents, events)
	}
	return released, err
}

// applyRequests applies the requests that no worker will apply: it removes
// ended tasks that are to be deleted, and ends or removes waiting ones that no
// worker has begun or that no live process would claim. A child that no worker has begun, and that was stopped with its parent and has
// not ended then, is left to a worker. One page of each; there may be more. The condition
// of the index taskkit_requested is repeated, since SQLite does not conclude it.
func (b *Base) applyRequests(ctx context.Context, q store.Querier) (applied []uuid.UUID, more bool, err error) {
	var removed, stopped []uuid.UUID
	stop := lifecycle.DecideUnattended(lifecycle.Found{Status: lifecycle.Queued, Control: lifecycle.Stop})
	err = do(ctx, q, Step{
		Text: b.SQL(`WITH asked AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q
  WHERE q.control = 'DELETE' AND (q.workflow_status`+AsExpression+` IN (`) + TerminalStatuses() + b.SQL(`)
    OR q.workflow_status`+AsExpression+` = 'QUEUED' AND (q.fence = 0 OR NOT `) + b.known() + `)) AND NOT ` + b.hasOpenChildren() + `
  ORDER BY q.id LIMIT $1 ` + b.skipLocked() + b.SQL(`
)
DELETE FROM {s}taskkit_queued_task WHERE id IN (SELECT id FROM asked) RETURNING id`),
		Args: []any{int64(page)},
		Row:  idInto(&removed),
	}, Step{
		Text: b.SQL(`WITH asked AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.control = 'STOP' AND (q.fence = 0 AND coalesce(q.control_reason, '') <> '`+lifecycle.ReasonParent+`' OR NOT `) + b.known() + `) AND NOT ` + b.hasOpenChildren() + `
  ORDER BY q.id LIMIT $1 ` + b.skipLocked() + b.SQL(`
)
UPDATE {s}taskkit_queued_task SET `+ended(stop)+`, modified_date = {now}
WHERE id IN (SELECT id FROM asked) RETURNING id`),
		Args: []any{int64(page)},
		Row:  idInto(&stopped),
	})
	if err == nil {
		err = flush(ctx, q)
	}
	if err == nil {
		err = b.removeChildren(ctx, q, removed)
	}
	if err == nil {
		err = b.endWaits(ctx, q, stopped)
	}
	if err == nil {
		err = b.announce(ctx, q, notice.Ended, stopped...)
	}
	return append(removed, stopped...), max(len(removed), len(stopped)) == page, err
}
