-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_limit (id, limit_key)
SELECT id::uuid, limit_key
FROM unnest($1::text[], $2::text[]) AS r(id, limit_key)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence
    AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING'), false)
FROM "taskkit".taskkit_limit k LEFT JOIN "taskkit".taskkit_task_limit l ON l.limit_key = k.limit_key
    AND NOT l.waiting
  LEFT JOIN "taskkit".taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key = ANY($1::text[]);

SELECT execution_component_name, reference, version FROM "taskkit".taskkit_reference_version
WHERE execution_component_name = ANY($1::text[]) AND reference = ANY($2::text[]) AND version IS NOT NULL;

COMMIT;
