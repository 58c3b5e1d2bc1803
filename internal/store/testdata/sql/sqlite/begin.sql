-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT 1 FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING');
