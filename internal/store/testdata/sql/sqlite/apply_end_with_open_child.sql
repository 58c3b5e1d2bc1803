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

COMMIT;
