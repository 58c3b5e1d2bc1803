-- Written by TestStatements; each statement once, in the order of execution.

UPDATE taskkit_task_process SET last_heartbeat_date = datetime('now', 'subsec')
WHERE ended_date IS NULL AND id = (SELECT scheduled_by_process FROM taskkit_queued_task WHERE id = $1);

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  scheduled_by_process = NULL,
  workflow_stopped_date = datetime('now', 'subsec'),
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
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

INSERT INTO taskkit_task_result (id, task_id, result, codec_revision, keep_fetched_ms, expiry_date) VALUES ($1,
    $2, $3, $4, CASE WHEN $5 >= 0 THEN $5 END,
  CASE WHEN $6 >= 0 THEN strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $6 / 1000.0)) END)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision,
    finished_date = excluded.finished_date, fetched_date = NULL, keep_fetched_ms = excluded.keep_fetched_ms,
    expiry_date = excluded.expiry_date;

COMMIT;
