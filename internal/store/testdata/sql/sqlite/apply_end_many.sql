-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT datetime('now', 'subsec');

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, $16),
  scheduled_by_process = NULL,
  workflow_stopped_date = $16,
  stalled = 0,
  waiting_reason = NULL,
  checkpoint_seq = checkpoint_seq + 1,
  spec_revision = CASE WHEN $4 <> codec_revision THEN coalesce(spec_revision,
      codec_revision) ELSE spec_revision END,
  codec_revision = $4,
  execution_state = coalesce(nullif($5, ''), execution_state),
  items_total = nullif(max($6, -1), -1),
  position = $7,
  round = $17,
  deferred = $18,
  items_done = $8,
  items_failed = $9,
  items_skipped = $10,
  attempts = $11,
  modified_date = $16,
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

DELETE FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = 'DELETE';

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, $16),
  scheduled_by_process = NULL,
  workflow_stopped_date = $16,
  stalled = 0,
  waiting_reason = NULL,
  checkpoint_seq = checkpoint_seq + 1,
  spec_revision = CASE WHEN $4 <> codec_revision THEN coalesce(spec_revision,
      codec_revision) ELSE spec_revision END,
  codec_revision = $4,
  execution_state = coalesce(nullif($5, ''), execution_state),
  items_total = nullif(max($6, -1), -1),
  position = $7,
  round = $17,
  deferred = $18,
  items_done = $8,
  items_failed = $9,
  items_skipped = $10,
  attempts = $11,
  modified_date = $16,
  modified_by = run_as_id,
  control = '',
  control_by = NULL,
  control_reason = NULL
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING');

INSERT INTO taskkit_task_item (id, task_id, item, outcome, code, detail, position, attempt) VALUES ($1, $2, $3,
    $4, $5, $6, $7, $8)
ON CONFLICT (task_id, item) DO UPDATE SET outcome = excluded.outcome, code = excluded.code,
    detail = excluded.detail,
    position = CASE WHEN excluded.position > 0 THEN excluded.position ELSE taskkit_task_item.position END,
    attempt = excluded.attempt, created_date = excluded.created_date;

INSERT INTO taskkit_task_result (id, task_id, result, codec_revision, keep_fetched_ms, expiry_date) VALUES ($1,
    $2, $3, $4, CASE WHEN $5 >= 0 THEN $5 END,
  CASE WHEN $6 >= 0 THEN strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $6 / 1000.0)) END)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision,
    finished_date = excluded.finished_date, fetched_date = NULL, keep_fetched_ms = excluded.keep_fetched_ms,
    expiry_date = excluded.expiry_date;

UPDATE taskkit_queued_task SET secrets = coalesce(secrets || char(10), '') || $2 WHERE id = $1;

UPDATE taskkit_task_plan SET report = $2 WHERE task_id = $1;

UPDATE taskkit_queued_task SET
  workflow_status = 'FAILURE',
  partial = $15,
  workflow_status_desc = coalesce(nullif($13, ''), workflow_status_desc),
  execution_started_date = coalesce(execution_started_date, $16),
  scheduled_by_process = NULL,
  workflow_stopped_date = $16,
  stalled = stalled AND $11 < attempts,
  waiting_reason = NULL,
  attempts = $11,
  modified_date = $16,
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

COMMIT;
