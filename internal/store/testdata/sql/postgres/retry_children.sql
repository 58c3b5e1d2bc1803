-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT 1
FROM "taskkit".taskkit_queued_task q
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status || '' IN ('SCHEDULING',
    'EXECUTING') FOR NO KEY UPDATE OF q;

SELECT q.id, q.workflow_status FROM "taskkit".taskkit_queued_task q WHERE q.parent_id = $1
    AND q.parent_id IS NOT NULL AND q.workflow_status <> '' AND q.parent_id::text = ($1)::text
    AND q.workflow_status IN ('FAILURE', 'ERROR') AND q.workflow_status || '' IN ('FAILURE', 'ERROR')
    AND q.control <> 'DELETE'
  AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
    AND o.idempotency_key = $2 || CAST(q.id AS text))
  AND (q.unique_key IS NULL
    OR NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
      AND o.unique_key = q.unique_key AND o.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
    AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task o WHERE o.parent_id = $1
        AND o.parent_id IS NOT NULL AND o.workflow_status <> '' AND o.parent_id::text = ($1)::text
        AND o.workflow_status IN ('FAILURE', 'ERROR') AND o.workflow_status || '' IN ('FAILURE', 'ERROR')
      AND o.execution_component_name = q.execution_component_name AND o.unique_key = q.unique_key
          AND o.id > q.id))
ORDER BY q.id LIMIT $3 FOR NO KEY UPDATE OF q;

UPDATE "taskkit".taskkit_task_parent SET retry = false WHERE task_id = $1;

UPDATE "taskkit".taskkit_task_parent SET sums = NULL WHERE task_id = $1;

UPDATE "taskkit".taskkit_queued_task
SET control = '', control_by = NULL, control_reason = NULL, workflow_status = 'QUEUED', attempts = 0,
    workflow_stopped_date = NULL, stalled = false, not_before = clock_timestamp(), waiting_reason = 'retried',
    modified_date = clock_timestamp()
WHERE id = ANY($1::text[]::uuid[]);

SELECT q.id
FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY($1::text[]::uuid[]) AND EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (q.id)::text
LIMIT 1 OFFSET 0);

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, name)
SELECT id::uuid, task_id::uuid, action, nullif(actor, '')::uuid, reason, was, nullif(name, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS r(id,
    task_id, action, actor, reason, was, name);

SELECT pg_notify($1, $2);

COMMIT;
