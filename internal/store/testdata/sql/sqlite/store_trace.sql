-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task
SET traceparent = $3
WHERE id = $1 AND fence = $2 AND workflow_status IN ('SCHEDULING', 'EXECUTING');

COMMIT;
