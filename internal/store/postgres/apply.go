package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// applyTemplate makes many writes of holders in one statement, each joined to
// its row by primary key and guarded by fence, checkpoint_seq and status. Two
// such statements cannot deadlock, because a row has one holder. Its w are the
// columns of writes; [updatePlan] determines them.
//
// Two things prevent a plan that reads the whole table:
//
//   - The status is compared as part of an expression, see [sqlbase.AsExpression].
//   - The arrays come from subqueries, which the planner estimates as ten rows, so
//     it uses the primary key. For an estimate of a thousand it reads the table.
//
// A task that ends with a pending request is left to a second such statement, which
// also clears the request: few do, and what a statement sets costs every task. One
// that ends with a pending delete is left to removeQuery. The three cannot all miss
// a task, because PostgreSQL evaluates the condition on control again when the row has
// changed meanwhile, and because a delete is never withdrawn.
const applyTemplate = `UPDATE {s}taskkit_queued_task q SET {set}
  checkpoint_seq = q.checkpoint_seq + w.checkpoint,
  spec_revision = CASE WHEN w.checkpoint = 1 AND w.revision <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN w.checkpoint = 1 THEN w.revision ELSE q.codec_revision END,
  execution_state = CASE WHEN w.checkpoint = 1 AND w.state <> '' THEN w.state::json ELSE q.execution_state END,
  items_total = CASE WHEN w.checkpoint = 1 THEN nullif(greatest(w.total, -1), -1) ELSE q.items_total END,
  position = CASE WHEN w.checkpoint = 1 THEN w.position ELSE q.position END,
  round = CASE WHEN w.checkpoint = 1 THEN w.round ELSE q.round END,
  deferred = CASE WHEN w.checkpoint = 1 THEN w.deferred = 1 ELSE q.deferred END,
  items_done = CASE WHEN w.checkpoint = 1 THEN w.done ELSE q.items_done END,
  items_failed = CASE WHEN w.checkpoint = 1 THEN w.failed ELSE q.items_failed END,
  items_skipped = CASE WHEN w.checkpoint = 1 THEN w.skipped ELSE q.items_skipped END,
  attempts = w.attempts,
  modified_date = {now}, modified_by = q.run_as_id
{from}
WHERE q.id = w.id::uuid AND q.fence = w.fence AND q.checkpoint_seq = w.seq
  AND {guard}
RETURNING w.ord, q.control`

// What a write does to the status and to what goes with it, and the guard of
// that.
const (
	setStatus = `
  workflow_status = w.status,
  workflow_status_desc = coalesce(nullif(w.descr, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN w.status IN ('QUEUED', 'ERROR'){began} THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, {now}) END,
  workflow_stopped_date = CASE WHEN w.status IN ({terminal}) THEN {now} END,
  scheduled_by_process = CASE WHEN w.status = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN w.status <> 'QUEUED' THEN q.not_before
    WHEN q.control IN ('STOP', 'DELETE') AND w.reason <> '` + lifecycle.ReasonEndingChildren + `' THEN {now}
    WHEN w.due <> '' THEN w.due::timestamptz
    WHEN w.delay < 0 THEN q.not_before
    ELSE {now} + w.delay::float8 * interval '1 millisecond' END,
  stalled = q.stalled AND (w.status = 'EXECUTING' OR w.checkpoint = 0 AND w.attempts < q.attempts)
    OR w.status = 'QUEUED' AND q.control IN ('STOP', 'DELETE'),
  waiting_reason = CASE WHEN w.status = 'QUEUED' THEN nullif(w.reason, '') END,
  partial = w.partial = 1,`
	setControl = `
  control = '', control_by = NULL, control_reason = NULL,`
	guardStatus = `q.workflow_status || '>' || w.status IN ({legal})
  AND NOT (q.control` + sqlbase.AsExpression + ` {pending} AND w.status IN ({terminal}))`
	anyRequest      = `<> ''`
	deleteRequest   = `= 'DELETE'`
	guardCheckpoint = `q.workflow_status` + sqlbase.AsExpression + ` = 'EXECUTING'`
)

// removeQuery ends tasks that are to be deleted: their holders are done with
// them.
const removeQuery = `DELETE FROM {s}taskkit_queued_task q
USING unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[])) AS w(ord, id, fence, seq)
WHERE q.id = w.id::uuid AND q.fence = w.fence AND q.checkpoint_seq = w.seq
  AND q.workflow_status` + sqlbase.AsExpression + ` IN ('SCHEDULING', 'EXECUTING') AND q.control` + sqlbase.AsExpression + ` = 'DELETE'
RETURNING w.ord`

// Apply implements [store.Sessions]. It ignores the process, since the fences identify
// its claims.
func (s *Store) Apply(ctx context.Context, _ string, writes []*store.Write) ([]store.Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var (
		applied []store.Applied
		err     error
	)
	rs := rounds(writes)
	switch {
	case len(rs) == 1 && !slices.ContainsFunc(writes, sqlbase.HasRecords):
		applied, err = s.apply(ctx, s.db, writes)
	case hasReportOnly(writes):
		applied, err = s.applyReport(ctx, s.db, writes[0])
	default:
		applied = make([]store.Applied, len(writes))
		err = s.pool.InTx(ctx, func(q store.Querier) error {
			for _, r := range rs {
				part := make([]*store.Write, len(r))
				for i, n := range r {
					part[i] = writes[n]
				}
				done, err := s.apply(ctx, q, part)
				if err != nil {
					return err
				}
				for i, n := range r {
					applied[n] = done[i]
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("write %d tasks: %w", len(writes), err)
	}
	return applied, nil
}

// apply makes writes of different tasks, and records what came with those that
// took effect. A task that was removed has no records. The end of a task with open children
// is not made.
func (s *Store) apply(ctx context.Context, q store.Querier, writes []*store.Write) ([]store.Applied, error) {
	if err := s.LockPolicies(ctx, q, writes); err != nil {
		return nil, err
	}
	open, err := s.OpenParents(ctx, q, writes)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return s.applyAll(ctx, q, writes)
	}
	var (
		applied = make([]store.Applied, len(writes))
		rest    []*store.Write
		at      []int
	)
	for i, w := range writes {
		if applied[i].Open = open[w.ID]; !applied[i].Open {
			rest, at = append(rest, w), append(at, i)
		}
	}
	if len(rest) == 0 {
		return applied, nil
	}
	done, err := s.applyAll(ctx, q, rest)
	if err != nil {
		return nil, err
	}
	for i, a := range done {
		applied[at[i]] = a
	}
	return applied, nil
}

// applyAll is apply for writes of tasks without open children.
func (s *Store) applyAll(ctx context.Context, q store.Querier, writes []*store.Write) ([]store.Applied, error) {
	applied := make([]store.Applied, len(writes))
	l := newUpdatePlan(writes)
	if err := update(ctx, q, s.applySQL(l), l.args(writes), func(i int, a store.Applied) { applied[i] = a }); err != nil {
		return nil, err
	}
	if ends := missedEnds(writes, applied); len(ends) > 0 {
		missed := make([]*store.Write, len(ends))
		for i, e := range ends {
			missed[i] = e.Write
		}
		l := newUpdatePlan(missed)
		l.clearsControl = true
		if err := update(ctx, q, s.applySQL(l), l.args(missed), func(i int, a store.Applied) { applied[ends[i].ord] = a }); err != nil {
			return nil, err
		}
	}
	removed, err := s.remove(ctx, q, missedEnds(writes, applied), applied)
	if err != nil {
		return nil, err
	}
	var (
		recorded []*store.Write
		outcomes []*store.Applied
	)
	for i, w := range writes {
		if applied[i].OK && !removed[i] && sqlbase.HasRecords(w) {
			recorded, outcomes = append(recorded, w), append(outcomes, &applied[i])
		}
	}
	return applied, s.Record(ctx, q, recorded, outcomes)
}

// update makes writes by one statement. It calls ok for each write that took effect, with its
// index.
func update(ctx context.Context, q store.Querier, query string, args []any, ok func(int, store.Applied)) error {
	_, err := sqlrows.Query(ctx, q, query, args, func(rows *sql.Rows) error {
		var (
			ord     int
			control lifecycle.Control
		)
		if err := rows.Scan(&ord, &control); err != nil {
			return err
		}
		ok(ord, store.Applied{OK: true, Control: control})
		return nil
	})
	return err
}

// missedEnd is an end that was not applied, and its index in the list of writes.
type missedEnd struct {
	*store.Write
	ord int
}

// missedEnds are the ends that were not applied, because the task lease was lost or
// a request is pending.
func missedEnds(writes []*store.Write, applied []store.Applied) (ends []*missedEnd) {
	for i, w := range writes {
		if w.To.Terminal() && !applied[i].OK {
			ends = append(ends, &missedEnd{w, i})
		}
	}
	return ends
}

// removalColumns are the parameters of removeQuery.
var removalColumns = []sqlrows.Column[missedEnd]{
	sqlrows.Number("ord", func(r *missedEnd) int64 { return int64(r.ord) }),
	sqlrows.Text("id", func(r *missedEnd) string { return r.ID.String() }),
	sqlrows.Number("fence", func(r *missedEnd) int64 { return r.Fence }),
	sqlrows.Number("seq", func(r *missedEnd) int64 { return r.Seq }),
}

// remove handles the ends that were not applied, because the task lease was lost or
// the task is to be deleted. It removes the latter, with their children.
func (s *Store) remove(ctx context.Context, q store.Querier, ends []*missedEnd, applied []store.Applied) (map[int]bool, error) {
	if len(ends) == 0 {
		return nil, nil
	}
	removed := make(map[int]bool)
	_, err := sqlrows.Query(ctx, q, s.SQL(removeQuery), sqlrows.Arrays(removalColumns, ends), func(rows *sql.Rows) error {
		var i int
		err := rows.Scan(&i)
		removed[i] = true
		applied[i] = store.Applied{OK: true, Control: lifecycle.Delete}
		return err
	})
	if err != nil {
		return nil, err
	}
	var gone []*store.Write
	for _, e := range ends {
		if removed[e.ord] {
			gone = append(gone, e.Write)
		}
	}
	return removed, s.RemoveFamilies(ctx, q, gone...)
}

// rounds groups writes so that none holds a task twice, keeping their order.
// There is nearly always one: a statement changes a row once.
func rounds(writes []*store.Write) [][]int {
	var rs [][]int
	seen := make(map[uuid.UUID]int, len(writes))
	for i := range writes {
		n := seen[writes[i].ID]
		seen[writes[i].ID] = n + 1
		if n == len(rs) {
			rs = append(rs, nil)
		}
		rs[n] = append(rs[n], i)
	}
	return rs
}
