-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT DISTINCT parent_id
FROM taskkit_queued_task
WHERE parent_id IN (SELECT value
FROM json_each($1)) AND parent_id IS NOT NULL AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING');

COMMIT;
