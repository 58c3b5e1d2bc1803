package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/workflow"
)

// postgresApply makes many writes of holders in one statement, each joined to
// its row by primary key and guarded by fence, checkpoint_seq and status. Two
// such statements cannot wait for each other in a circle: a row has one holder.
// Its w are the columns of writes; see [layout] for what stands in their places.
//
// What keeps the planner from reading the table:
//
//   - The status is compared as part of an expression. Compared as a column, the
//     planner believes statistics from before the claim, expects next to no row
//     in flight, and reads the whole index or table for each write: measured 53
//     rows a second against 80,000.
//   - The arrays come out of subqueries, so that it takes them for ten rows and
//     looks each up. Of a thousand it would rather read the table.
//
// A task that ends with a delete standing is left to postgresRemove. The two
// cannot both miss it: the condition on control is looked at again when the row
// has changed meanwhile.
const postgresApply = `UPDATE {s}taskkit_queued_task q SET {set}
  checkpoint_seq = q.checkpoint_seq + w.checkpoint,
  spec_revision = CASE WHEN w.checkpoint = 1 AND w.revision <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN w.checkpoint = 1 THEN w.revision ELSE q.codec_revision END,
  execution_state = CASE WHEN w.checkpoint = 1 AND w.state <> '' THEN w.state::json ELSE q.execution_state END,
  items_total = CASE WHEN w.checkpoint = 1 THEN nullif(greatest(w.total, -1), -1) ELSE q.items_total END,
  items_taken = CASE WHEN w.checkpoint = 1 THEN w.taken ELSE q.items_taken END,
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
	postgresMoves = `
  workflow_status = w.status,
  workflow_status_desc = coalesce(nullif(w.descr, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN w.status IN ('QUEUED', 'ERROR') THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, {now}) END,
  workflow_stopped_date = CASE WHEN w.status IN ({terminal}) THEN {now} END,
  scheduled_by_process = CASE WHEN w.status = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN w.status <> 'QUEUED' THEN q.not_before
    WHEN w.clear = 0 AND q.control IN ('STOP', 'DELETE') THEN {now}
    WHEN w.delay < 0 THEN q.not_before
    ELSE {now} + w.delay * interval '1 millisecond' END,
  stalled = q.stalled OR w.status = 'QUEUED' AND w.clear = 0 AND q.control IN ('STOP', 'DELETE'),
  reason = CASE WHEN w.status = 'QUEUED' THEN nullif(w.reason, '') ELSE q.reason END,`
	postgresClears = `
  control = CASE WHEN w.clear = 1 THEN '' ELSE q.control END,
  control_by = CASE WHEN w.clear = 1 THEN NULL ELSE q.control_by END,
  control_reason = CASE WHEN w.clear = 1 THEN NULL ELSE q.control_reason END,`
	postgresMayMove = `q.workflow_status || '>' || w.status IN ({legal})
  AND NOT (q.control || '' = 'DELETE' AND w.clear = 0 AND w.status IN ({terminal}))`
	postgresStays = `q.workflow_status || '' = 'EXECUTING'`
)

// postgresRemove ends tasks that are to be deleted: their holders are done with
// them.
const postgresRemove = `DELETE FROM {s}taskkit_queued_task q
USING unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[])) AS w(ord, id, fence, seq)
WHERE q.id = w.id::uuid AND q.fence = w.fence AND q.checkpoint_seq = w.seq
  AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING') AND q.control || '' = 'DELETE'
RETURNING w.ord`

// legalWrites are the changes of status that a holder may make: the edges out of
// the statuses in flight, and a checkpoint, which stays.
func legalWrites() string {
	pairs := []string{string(workflow.Executing + ">" + workflow.Executing)}
	for _, e := range workflow.Edges() {
		if e.From.InFlight() {
			pairs = append(pairs, string(e.From+">"+e.To))
		}
	}
	return list(pairs...)
}

// terminal are the statuses of a task that has ended.
func terminal() string {
	return list(workflow.Completed, workflow.Error, workflow.Failure)
}

// Apply implements [Store]. The process is not looked at: its claims are its
// fences.
func (s *postgres) Apply(ctx context.Context, _ string, writes []Write) ([]Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var (
		applied []Applied
		err     error
	)
	rs := rounds(writes)
	if len(rs) == 1 && !extra(writes) {
		applied, err = s.apply(ctx, s.db, writes)
	} else {
		applied = make([]Applied, len(writes))
		err = inTx(ctx, s.db, func(q Querier) error {
			for _, r := range rs {
				part := make([]Write, len(r))
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
// took effect.
func (s *postgres) apply(ctx context.Context, q Querier, writes []Write) ([]Applied, error) {
	applied := make([]Applied, len(writes))
	l := newLayout(writes)
	_, err := ask(ctx, q, s.applySQL(l), l.args(writes), func(rows *sql.Rows) error {
		var (
			ord     int64
			control workflow.Control
		)
		err := rows.Scan(&ord, &control)
		applied[ord] = Applied{OK: true, Control: control}
		return err
	})
	if err != nil {
		return nil, err
	}
	removed, err := s.remove(ctx, q, writes, applied)
	if err != nil {
		return nil, err
	}
	return applied, s.record(ctx, q, writes, func(i int) bool { return applied[i].OK && !removed[i] })
}

// remove looks at the ends that were not applied: they have lost their hold, or
// their task is to be deleted.
func (s *postgres) remove(ctx context.Context, q Querier, writes []Write, applied []Applied) (map[int]bool, error) {
	var (
		ord, fence, seq []int64
		id              []string
	)
	for i, w := range writes {
		if w.To.Terminal() && !w.ClearControl && !applied[i].OK {
			ord, id, fence, seq = append(ord, int64(i)), append(id, w.ID.String()), append(fence, w.Fence), append(seq, w.Seq)
		}
	}
	if len(ord) == 0 {
		return nil, nil
	}
	removed := make(map[int]bool)
	_, err := ask(ctx, q, s.sql(postgresRemove), []any{ord, id, fence, seq}, func(rows *sql.Rows) error {
		var i int
		err := rows.Scan(&i)
		removed[i] = true
		applied[i] = Applied{OK: true, Control: workflow.Delete}
		return err
	})
	return removed, err
}

// record stores what came with writes that took effect: failed items, failed
// attempts, results and, rarely, secrets. A task that was removed has none.
func (s *postgres) record(ctx context.Context, q Querier, writes []Write, took func(int) bool) error {
	var (
		fid, ftask, item, code, detail []string
		fattempt                       []int64
		aid, atask, process            []string
		afence, aseq, aattempt         []int64
		class, acode, adetail          []string
		rid, rtask, result             []string
		rrevision                      []int64
		stask, secrets                 []string
	)
	for i, w := range writes {
		if !took(i) {
			continue
		}
		task := w.ID.String()
		for _, f := range w.failures() {
			fid, ftask = append(fid, f.ID.String()), append(ftask, task)
			item, code, detail = append(item, f.Item), append(code, f.Code), append(detail, f.Detail)
			fattempt = append(fattempt, int64(f.Attempt))
		}
		if a := w.attempt(); a != nil {
			aid, atask, process = append(aid, newID()), append(atask, task), append(process, a.Process)
			afence, aseq, aattempt = append(afence, a.Fence), append(aseq, a.Seq), append(aattempt, int64(a.Attempt))
			class, acode, adetail = append(class, a.Class), append(acode, a.Code), append(adetail, a.Detail)
		}
		if w.Result != nil {
			rid, rtask, result = append(rid, newID()), append(rtask, task), append(result, string(w.Result))
			rrevision = append(rrevision, int64(w.Revision))
		}
		if add := w.secrets(); add != "" {
			stask, secrets = append(stask, task), append(secrets, add)
		}
	}
	if len(fid) > 0 {
		if _, err := q.ExecContext(ctx, s.sql(`INSERT INTO {s}taskkit_task_failure (id, task_id, item, code, detail, attempt)
SELECT id::uuid, task::uuid, item, code, detail, attempt
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS f(id, task, item, code, detail, attempt)`),
			fid, ftask, item, code, detail, fattempt); err != nil {
			return fmt.Errorf("record %d failed items: %w", len(fid), err)
		}
	}
	if len(aid) > 0 {
		if _, err := q.ExecContext(ctx, s.sql(`INSERT INTO {s}taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
SELECT id::uuid, task::uuid, process, fence, seq, attempt, class, code, detail
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
  AS a(id, task, process, fence, seq, attempt, class, code, detail)`),
			aid, atask, process, afence, aseq, aattempt, class, acode, adetail); err != nil {
			return fmt.Errorf("record %d failed attempts: %w", len(aid), err)
		}
	}
	if len(rid) > 0 {
		if _, err := q.ExecContext(ctx, s.sql(`INSERT INTO {s}taskkit_task_result (id, task_id, result, codec_revision)
SELECT id::uuid, task::uuid, result::json, revision FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS r(id, task, result, revision)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision, finished_date = excluded.finished_date, fetched_date = NULL, expiry_date = NULL`),
			rid, rtask, result, rrevision); err != nil {
			return fmt.Errorf("record %d results: %w", len(rid), err)
		}
	}
	if len(stask) > 0 {
		if _, err := q.ExecContext(ctx, s.sql(`UPDATE {s}taskkit_queued_task q SET secrets = concat_ws(chr(10), q.secrets, a.secrets)
FROM unnest($1::text[], $2::text[]) AS a(task, secrets) WHERE q.id = a.task::uuid`), stask, secrets); err != nil {
			return fmt.Errorf("record the secrets of %d tasks: %w", len(stask), err)
		}
	}
	return nil
}

// newID is the id of a row that nobody names.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
