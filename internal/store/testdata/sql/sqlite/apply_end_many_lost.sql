-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT datetime('now', 'subsec');

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
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

DELETE FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = 'DELETE';

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, $16),
  scheduled_by_process = NULL,
  workflow_stopped_date = $16,
  stalled = stalled AND $11 < attempts,
  waiting_reason = NULL,
  attempts = $11,
  modified_date = $16,
  modified_by = run_as_id,
  control = '',
  control_by = NULL,
  control_reason = NULL
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING');

COMMIT;
