-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  scheduled_by_process = NULL,
  workflow_stopped_date = datetime('now', 'subsec'),
  stalled = stalled AND $11 < attempts,
  waiting_reason = NULL,
  attempts = $11,
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

DELETE FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = 'DELETE';

UPDATE taskkit_queued_task SET
  workflow_status = 'COMPLETED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  scheduled_by_process = NULL,
  workflow_stopped_date = datetime('now', 'subsec'),
  stalled = stalled AND $11 < attempts,
  waiting_reason = NULL,
  attempts = $11,
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id,
  control = '',
  control_by = NULL,
  control_reason = NULL
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING');

COMMIT;
