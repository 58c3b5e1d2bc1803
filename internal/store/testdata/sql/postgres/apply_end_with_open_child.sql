-- Written by TestStatements; each statement once, in the order of execution.

begin;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT 1
FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY($1::text[]::uuid[])
ORDER BY q.id FOR NO KEY UPDATE OF q;

SELECT DISTINCT parent_id
FROM "taskkit".taskkit_queued_task
WHERE parent_id = ANY($1::text[]::uuid[]) AND parent_id IS NOT NULL AND workflow_status IN ('QUEUED',
    'SCHEDULING', 'EXECUTING');

commit;
