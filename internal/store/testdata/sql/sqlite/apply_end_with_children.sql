-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT q.id
FROM taskkit_queued_task q
WHERE q.id IN (SELECT value
FROM json_each($1)) AND EXISTS (SELECT 1
FROM taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0);

UPDATE taskkit_queued_task SET
  workflow_status = 'FAILURE',
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

UPDATE taskkit_task_parent SET waits = false WHERE task_id IN (SELECT value FROM json_each($1)) AND waits;

SELECT p.task_id, p.sums
FROM taskkit_task_parent p
WHERE p.task_id IN (SELECT value
FROM json_each($1)) AND p.sums IS NOT NULL;

COMMIT;
