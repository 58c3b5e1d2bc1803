-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'QUEUED',
  partial = $15,
  scheduled_by_process = NULL,
  waiting_reason = nullif($14, ''),
  stalled = stalled AND $11 < attempts OR control IN ('STOP', 'DELETE'),
  not_before = CASE WHEN control IN ('STOP', 'DELETE')
      AND $14 <> 'waits for its children to end' THEN datetime('now', 'subsec')
    WHEN typeof($12) = 'text' THEN $12
    WHEN $12 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', datetime('now', 'subsec'), printf('+%.3f seconds', $12 / 1000.0)) END,
  attempts = $11,
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

INSERT INTO taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

COMMIT;
