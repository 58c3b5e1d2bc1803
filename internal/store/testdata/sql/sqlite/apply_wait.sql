-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'QUEUED',
  partial = $15,
  scheduled_by_process = NULL,
  waiting_reason = nullif($14, ''),
  stalled = 0 OR control IN ('STOP', 'DELETE'),
  not_before = CASE WHEN control IN ('STOP', 'DELETE')
      AND $14 <> 'waits for its children to end' THEN datetime('now', 'subsec')
    WHEN typeof($12) = 'text' THEN $12
    WHEN $12 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', datetime('now', 'subsec'), printf('+%.3f seconds', $12 / 1000.0)) END,
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

INSERT INTO taskkit_task_parent
  (id, task_id, open_at_most, on_failure, failed_seen, fence, checkpoint_seq, waits, ending, memo)
VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8, $9)
ON CONFLICT (task_id) DO UPDATE SET open_at_most = excluded.open_at_most, on_failure = excluded.on_failure,
  failed_seen = excluded.failed_seen, fence = excluded.fence, checkpoint_seq = excluded.checkpoint_seq,
      waits = true,
  ending = excluded.ending, memo = coalesce(excluded.memo, taskkit_task_parent.memo);

UPDATE taskkit_queued_task SET control = 'PAUSE', control_by = NULL, control_reason = $5
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status = $4
    AND (control = '' OR control = 'PAUSE' AND coalesce(control_reason, '') = 'requested of its parent');

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

COMMIT;
