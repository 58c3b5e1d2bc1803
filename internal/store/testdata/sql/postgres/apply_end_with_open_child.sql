-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT 1
FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY($1::text[]::uuid[])
ORDER BY q.id FOR NO KEY UPDATE OF q;

SELECT q.id
FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY($1::text[]::uuid[]) AND EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (q.id)::text AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0);

COMMIT;
