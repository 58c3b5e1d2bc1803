package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/workflow"
)

// postgresApply makes many writes of holders in one statement, each joined to
// its row by primary key and guarded by fence, checkpoint_seq and status. Rows
// are locked in the order of their ids, so that two such statements cannot
// deadlock. FOR NO KEY UPDATE lets the batch of another statement's foreign key
// pass.
//
// The status is compared as part of an expression. Compared as a column, the
// planner believes statistics from before the claim, expects next to no row in
// flight, and reads the whole index or table for each write: measured 53 rows a
// second against 80,000.
//
// A task that ends with a delete standing is removed.
const postgresApply = `WITH w AS MATERIALIZED (
  SELECT ord, id::uuid AS id, fence, seq, status, checkpoint <> 0 AS checkpoint, revision, state, total, taken, done, failed, skipped,
    attempts, delay, reason, descr, clear <> 0 AS clear
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
    $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::bigint[])
  AS w(ord, id, fence, seq, status, checkpoint, revision, state, total, taken, done, failed, skipped, attempts, delay, reason, descr, clear)
), held AS MATERIALIZED (
  SELECT w.*, CASE WHEN w.clear THEN '' ELSE q.control END AS control
  FROM w JOIN {s}taskkit_queued_task q ON q.id = w.id
  WHERE q.fence = w.fence AND q.checkpoint_seq = w.seq
    AND q.workflow_status || '>' || w.status IN ({legal})
  ORDER BY q.id FOR NO KEY UPDATE OF q
), written AS (
  UPDATE {s}taskkit_queued_task q SET
    workflow_status = h.status,
    workflow_status_desc = coalesce(nullif(h.descr, ''), q.workflow_status_desc),
    execution_started_date = CASE WHEN h.status IN ('QUEUED', 'ERROR') THEN q.execution_started_date
      ELSE coalesce(q.execution_started_date, {now}) END,
    workflow_stopped_date = CASE WHEN h.status IN ({terminal}) THEN {now} END,
    scheduled_by_process = CASE WHEN h.status = 'EXECUTING' THEN q.scheduled_by_process END,
    checkpoint_seq = CASE WHEN h.checkpoint THEN q.checkpoint_seq + 1 ELSE q.checkpoint_seq END,
    codec_revision = CASE WHEN h.checkpoint THEN h.revision ELSE q.codec_revision END,
    execution_state = CASE WHEN h.checkpoint AND h.state <> '' THEN h.state::json ELSE q.execution_state END,
    items_total = CASE WHEN h.checkpoint THEN nullif(greatest(h.total, -1), -1) ELSE q.items_total END,
    items_taken = CASE WHEN h.checkpoint THEN h.taken ELSE q.items_taken END,
    items_done = CASE WHEN h.checkpoint THEN h.done ELSE q.items_done END,
    items_failed = CASE WHEN h.checkpoint THEN h.failed ELSE q.items_failed END,
    items_skipped = CASE WHEN h.checkpoint THEN h.skipped ELSE q.items_skipped END,
    attempts = h.attempts,
    not_before = CASE WHEN h.status <> 'QUEUED' THEN q.not_before
      WHEN h.control IN ('STOP', 'DELETE') THEN {now}
      ELSE {now} + h.delay * interval '1 millisecond' END,
    reason = CASE WHEN h.status = 'QUEUED' THEN nullif(h.reason, '') ELSE q.reason END,
    control = h.control,
    control_by = CASE WHEN h.clear THEN NULL ELSE q.control_by END,
    control_reason = CASE WHEN h.clear THEN NULL ELSE q.control_reason END,
    modified_date = {now}, modified_by = q.run_as_id
  FROM held h
  WHERE q.id = h.id AND NOT (h.control = 'DELETE' AND h.status IN ({terminal}))
  RETURNING h.ord, h.control, false AS removed
), removed AS (
  DELETE FROM {s}taskkit_queued_task q USING held h
  WHERE q.id = h.id AND h.control = 'DELETE' AND h.status IN ({terminal})
  RETURNING h.ord, h.control, true AS removed
)
SELECT ord, control, removed FROM written UNION ALL SELECT ord, control, removed FROM removed`

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
	removed := make([]bool, len(writes))
	_, err := ask(ctx, q, s.applySQL, applyArgs(writes), func(rows *sql.Rows) error {
		var (
			ord     int64
			control string
			gone    bool
		)
		if err := rows.Scan(&ord, &control, &gone); err != nil {
			return err
		}
		applied[ord] = Applied{OK: true, Control: workflow.Control(control)}
		removed[ord] = gone
		return nil
	})
	if err != nil {
		return nil, err
	}
	return applied, s.record(ctx, q, writes, func(i int) bool { return applied[i].OK && !removed[i] })
}

// postgresApplySQL fills in the words of the transition table.
func postgresApplySQL(t texts) string {
	return strings.NewReplacer("{legal}", legalWrites(), "{terminal}", terminal()).Replace(t.sql(postgresApply))
}

// applyArgs are the columns of writes, one array each: arrays travel as one
// parameter in every mode of pgx.
func applyArgs(writes []Write) []any {
	n := len(writes)
	var (
		number = func() []int64 { return make([]int64, n) }
		word   = func() []string { return make([]string, n) }

		ord, fence, seq, checkpoint, revision, clear = number(), number(), number(), number(), number(), number()
		total, taken, done, failed, skipped          = number(), number(), number(), number(), number()
		attempts, delay                              = number(), number()
		id, status, state, reason, desc              = word(), word(), word(), word(), word()
	)
	for i, w := range writes {
		ord[i], id[i], fence[i], seq[i], status[i] = int64(i), w.ID.String(), w.Fence, w.Seq, string(w.To)
		if w.Checkpoint {
			checkpoint[i], revision[i], state[i] = 1, int64(w.Revision), string(w.State)
			total[i], taken[i] = w.Progress.Total, w.Progress.Taken
			done[i], failed[i], skipped[i] = w.Progress.Done, w.Progress.Failed, w.Progress.Skipped
		}
		attempts[i], delay[i], reason[i], desc[i] = int64(max(w.Attempts, 0)), millis(w.Delay), clean(w.Reason), clean(w.Desc)
		if w.ClearControl {
			clear[i] = 1
		}
	}
	return []any{ord, id, fence, seq, status, checkpoint, revision, state, total, taken, done, failed, skipped,
		attempts, delay, reason, desc, clear}
}

// record stores what came with writes that took effect: failed items, failed
// attempts and results. A task that was removed has none.
func (s *postgres) record(ctx context.Context, q Querier, writes []Write, took func(int) bool) error {
	var (
		fid, ftask, item, code, detail []string
		fattempt                       []int64
		aid, atask, process            []string
		afence, aseq, aattempt         []int64
		class, acode, adetail          []string
		rid, rtask, result             []string
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
		if _, err := q.ExecContext(ctx, s.sql(`INSERT INTO {s}taskkit_task_result (id, task_id, result)
SELECT id::uuid, task::uuid, result::json FROM unnest($1::text[], $2::text[], $3::text[]) AS r(id, task, result)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, finished_date = excluded.finished_date, fetched_date = NULL, expiry_date = NULL`),
			rid, rtask, result); err != nil {
			return fmt.Errorf("record %d results: %w", len(rid), err)
		}
	}
	return nil
}

// newID is the id of a row that nobody names.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
