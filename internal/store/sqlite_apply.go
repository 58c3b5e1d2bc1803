package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"taskkit.dev/internal/workflow"
)

// sqliteApply makes one write of a holder, with the guard, the columns and the
// meaning of postgresApply. {now} is the time, $18 among many writes: to ask for it
// in every place costs a tenth of the rest. There is no list of more than two
// words: SQLite makes a table of it each time.
const sqliteApply = `UPDATE taskkit_queued_task SET
  workflow_status = $4,
  workflow_status_desc = coalesce(nullif($15, ''), workflow_status_desc),
  execution_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN execution_started_date
    ELSE coalesce(execution_started_date, {now}) END,
  workflow_stopped_date = CASE WHEN $4 NOT IN ('QUEUED', 'EXECUTING') THEN {now} END,
  scheduled_by_process = CASE WHEN $4 = 'EXECUTING' THEN scheduled_by_process END,
  checkpoint_seq = checkpoint_seq + $5,
  spec_revision = CASE WHEN $5 AND $6 <> codec_revision THEN coalesce(spec_revision, codec_revision) ELSE spec_revision END,
  codec_revision = CASE WHEN $5 THEN $6 ELSE codec_revision END,
  execution_state = CASE WHEN $5 AND $7 <> '' THEN $7 ELSE execution_state END,
  items_total = CASE WHEN $5 THEN nullif(max($8, -1), -1) ELSE items_total END,
  items_taken = CASE WHEN $5 THEN $9 ELSE items_taken END,
  items_done = CASE WHEN $5 THEN $10 ELSE items_done END,
  items_failed = CASE WHEN $5 THEN $11 ELSE items_failed END,
  items_skipped = CASE WHEN $5 THEN $12 ELSE items_skipped END,
  attempts = $13,
  not_before = CASE WHEN $4 <> 'QUEUED' THEN not_before
    WHEN NOT $17 AND control IN ('STOP', 'DELETE') THEN {now}
    WHEN $14 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', {now}, printf('+%.3f seconds', $14 / 1000.0)) END,
  stalled = stalled OR ($4 = 'QUEUED' AND NOT $17 AND control IN ('STOP', 'DELETE')),
  reason = CASE WHEN $4 = 'QUEUED' THEN nullif($16, '') ELSE reason END,
  control = CASE WHEN $17 THEN '' ELSE control END,
  control_by = CASE WHEN $17 THEN NULL ELSE control_by END,
  control_reason = CASE WHEN $17 THEN NULL ELSE control_reason END,
  modified_date = {now}, modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND instr({legal}, '''' || workflow_status || '>' || $4 || '''') > 0`

// Apply implements [Store]. The process is not looked at: its claims are its
// fences.
func (s *sqlite) Apply(ctx context.Context, _ string, writes []Write) ([]Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var applied []Applied
	err := s.inTx(ctx, func(q Querier) (err error) {
		applied, err = s.apply(ctx, q, writes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write %d tasks: %w", len(writes), err)
	}
	return applied, nil
}

// apply makes writes one after another, in the caller's transaction.
func (s *sqlite) apply(ctx context.Context, q Querier, writes []Write) ([]Applied, error) {
	// The driver watches each statement's context from a goroutine of its own;
	// for one row that costs more than the row.
	apart := context.WithoutCancel(ctx)
	var now string
	if len(writes) > 1 {
		if _, err := ask(apart, q, "SELECT "+sqliteNow, nil, func(rows *sql.Rows) error { return rows.Scan(&now) }); err != nil {
			return nil, err
		}
	}
	applied := make([]Applied, len(writes))
	for i := range writes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		w := &writes[i]
		var err error
		if applied[i], err = s.applyOne(apart, q, w, now); err != nil {
			return nil, err
		}
		switch {
		case !applied[i].OK:
		case w.To.Terminal() && applied[i].Control == workflow.Delete:
			_, err = q.ExecContext(apart, "DELETE FROM taskkit_queued_task WHERE id = $1", w.ID.String())
		default:
			err = s.record(ctx, q, w)
		}
		if err != nil {
			return nil, err
		}
	}
	return applied, nil
}

// applyOne makes one write, at a time or, if it is "", now.
func (s *sqlite) applyOne(ctx context.Context, q Querier, w *Write, now string) (a Applied, err error) {
	var (
		checkpoint, revision int64
		state                string
		p                    Progress
	)
	if w.Checkpoint {
		checkpoint, revision, state, p = 1, int64(w.Revision), string(w.State), w.Progress
	}
	texts, args := &s.applyNow, []any{
		w.ID.String(), w.Fence, w.Seq, string(w.To), checkpoint, revision, state,
		p.Total, p.Taken, p.Done, p.Failed, p.Skipped, int64(max(w.Attempts, 0)), w.delay(),
		clean(w.Desc), clean(w.Reason), w.ClearControl,
	}
	if now != "" {
		texts, args = &s.applyAt, append(args, now)
	}
	query := texts.free
	if w.ClearControl {
		query = texts.any
	}
	r, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return a, err
	}
	n, err := r.RowsAffected()
	if err != nil || n > 0 || w.ClearControl {
		return Applied{OK: n > 0}, err
	}
	rows, err := ask(ctx, q, texts.asking, args, func(rows *sql.Rows) error { return rows.Scan(&a.Control) })
	a.OK = rows > 0
	return a, err
}

// applyTexts are the statements that make a write.
type applyTexts struct {
	any    string
	free   string // only where nothing stands on the task
	asking string // returns what stands on it: that costs half as much as the write
}

// newApplyTexts fills in a time and the legal changes, as one string to search in.
func newApplyTexts(now string) applyTexts {
	legal := "'" + strings.ReplaceAll(legalWrites(), "'", "''") + "'"
	text := strings.NewReplacer("{legal}", legal, "{now}", now).Replace(sqliteApply)
	return applyTexts{text, text + " AND control = ''", text + " RETURNING control"}
}

// record stores what came with a write: failed items, a failed attempt, a
// result and, rarely, secrets.
func (s *sqlite) record(ctx context.Context, q Querier, w *Write) error {
	task := w.ID.String()
	for _, f := range w.failures() {
		if _, err := q.ExecContext(ctx, "INSERT INTO taskkit_task_failure (id, task_id, item, code, detail, attempt) VALUES ($1, $2, $3, $4, $5, $6)",
			f.ID.String(), task, f.Item, f.Code, f.Detail, int64(f.Attempt)); err != nil {
			return fmt.Errorf("record a failed item: %w", err)
		}
	}
	if a := w.attempt(); a != nil {
		if _, err := q.ExecContext(ctx, `INSERT INTO taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, newID(), task, a.Process, a.Fence, a.Seq, int64(a.Attempt), a.Class, a.Code, a.Detail); err != nil {
			return fmt.Errorf("record a failed attempt: %w", err)
		}
	}
	if w.Result != nil {
		if _, err := q.ExecContext(ctx, `INSERT INTO taskkit_task_result (id, task_id, result, codec_revision) VALUES ($1, $2, $3, $4)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision, finished_date = excluded.finished_date, fetched_date = NULL, expiry_date = NULL`,
			newID(), task, string(w.Result), int64(w.Revision)); err != nil {
			return fmt.Errorf("record a result: %w", err)
		}
	}
	if add := w.secrets(); add != "" {
		if _, err := q.ExecContext(ctx, `UPDATE taskkit_queued_task SET secrets = coalesce(secrets || char(10), '') || $2 WHERE id = $1`, task, add); err != nil {
			return fmt.Errorf("record secrets: %w", err)
		}
	}
	return nil
}
