-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'EXECUTING',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  waiting_reason = NULL,
  attempts = $11,
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('EXECUTING', 'SCHEDULING')
    AND control = '';

UPDATE taskkit_queued_task SET
  workflow_status = 'EXECUTING',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  waiting_reason = NULL,
  attempts = $11,
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('EXECUTING',
    'SCHEDULING') RETURNING control;

COMMIT;
