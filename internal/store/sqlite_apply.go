package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"taskkit.dev/internal/workflow"
)

// sqliteApply makes one write of a holder, with the guard, the columns and the
// meaning of postgresApply.
const sqliteApply = `UPDATE taskkit_queued_task SET
  workflow_status = $4,
  workflow_status_desc = coalesce(nullif($15, ''), workflow_status_desc),
  execution_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN execution_started_date
    ELSE coalesce(execution_started_date, {now}) END,
  workflow_stopped_date = CASE WHEN $4 IN ({terminal}) THEN {now} END,
  scheduled_by_process = CASE WHEN $4 = 'EXECUTING' THEN scheduled_by_process END,
  checkpoint_seq = checkpoint_seq + $5,
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
    ELSE strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $14 / 1000.0)) END,
  reason = CASE WHEN $4 = 'QUEUED' THEN nullif($16, '') ELSE reason END,
  control = CASE WHEN $17 THEN '' ELSE control END,
  control_by = CASE WHEN $17 THEN NULL ELSE control_by END,
  control_reason = CASE WHEN $17 THEN NULL ELSE control_reason END,
  modified_date = {now}, modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status || '>' || $4 IN ({legal})
RETURNING control`

// Apply implements [Store]. The process is not looked at: its claims are its
// fences.
func (s *sqlite) Apply(ctx context.Context, _ string, writes []Write) ([]Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var applied []Applied
	err := s.inTx(ctx, func(q Querier) (err error) {
		applied, err = s.apply(ctx, q.(*sql.Conn), writes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write %d tasks: %w", len(writes), err)
	}
	return applied, nil
}

// apply makes writes one after another with one prepared statement.
func (s *sqlite) apply(ctx context.Context, conn *sql.Conn, writes []Write) ([]Applied, error) {
	query := strings.NewReplacer("{legal}", legalWrites(), "{terminal}", terminal()).Replace(s.sql(sqliteApply))
	stmt, err := conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	applied := make([]Applied, len(writes))
	for i := range writes {
		if applied[i], err = s.applyOne(ctx, conn, stmt, &writes[i]); err != nil {
			return nil, err
		}
	}
	return applied, nil
}

func (s *sqlite) applyOne(ctx context.Context, conn *sql.Conn, stmt *sql.Stmt, w *Write) (Applied, error) {
	var (
		checkpoint, revision int64
		state                string
		p                    Progress
	)
	if w.Checkpoint {
		checkpoint, revision, state, p = 1, int64(w.Revision), string(w.State), w.Progress
	}
	rows, err := stmt.QueryContext(ctx, w.ID.String(), w.Fence, w.Seq, string(w.To), checkpoint, revision, state,
		p.Total, p.Taken, p.Done, p.Failed, p.Skipped, int64(max(w.Attempts, 0)), millis(w.Delay),
		clean(w.Desc), clean(w.Reason), w.ClearControl)
	if err != nil {
		return Applied{}, err
	}
	var a Applied
	if _, err := each(rows, func(rows *sql.Rows) error {
		a.OK = true
		return rows.Scan(&a.Control)
	}); err != nil || !a.OK {
		return Applied{}, err
	}
	if w.To.Terminal() && a.Control == workflow.Delete {
		_, err := conn.ExecContext(ctx, "DELETE FROM taskkit_queued_task WHERE id = $1", w.ID.String())
		return a, err
	}
	return a, s.record(ctx, conn, w)
}

// record stores what came with a write: failed items, a failed attempt, a
// result.
func (s *sqlite) record(ctx context.Context, conn *sql.Conn, w *Write) error {
	task := w.ID.String()
	if fs := w.failures(); len(fs) > 0 {
		stmt, err := conn.PrepareContext(ctx, "INSERT INTO taskkit_task_failure (id, task_id, item, code, detail, attempt) VALUES ($1, $2, $3, $4, $5, $6)")
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, f := range fs {
			if _, err := stmt.ExecContext(ctx, f.ID.String(), task, f.Item, f.Code, f.Detail, int64(f.Attempt)); err != nil {
				return fmt.Errorf("record a failed item: %w", err)
			}
		}
	}
	if a := w.attempt(); a != nil {
		if _, err := conn.ExecContext(ctx, `INSERT INTO taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, newID(), task, a.Process, a.Fence, a.Seq, int64(a.Attempt), a.Class, a.Code, a.Detail); err != nil {
			return fmt.Errorf("record a failed attempt: %w", err)
		}
	}
	if w.Result != nil {
		if _, err := conn.ExecContext(ctx, `INSERT INTO taskkit_task_result (id, task_id, result) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, finished_date = excluded.finished_date, fetched_date = NULL, expiry_date = NULL`,
			newID(), task, string(w.Result)); err != nil {
			return fmt.Errorf("record a result: %w", err)
		}
	}
	return nil
}
