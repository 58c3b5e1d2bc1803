-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT id, control, control_by, coalesce(control_reason, '')
FROM "taskkit".taskkit_queued_task
WHERE id = ANY($1::text[]::uuid[])
ORDER BY id FOR SHARE;

WITH RECURSIVE above(id) AS (
  SELECT q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[])
  UNION SELECT q.parent_id FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT p.options FROM above JOIN "taskkit".taskkit_task_plan p ON p.task_id = above.id WHERE p.options ->> CAST('policies' AS text) IS NOT NULL;

SELECT id, workflow_status, control, fence, coalesce(control_reason, ''), fence = 0 AND EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (q.id)::text AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0)
FROM "taskkit".taskkit_queued_task q
WHERE q.parent_id = ANY($1::text[]::uuid[]) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ANY($1::text[]) AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND q.control NOT IN ('STOP',
    'DELETE')
LIMIT $2 FOR NO KEY UPDATE OF q SKIP LOCKED;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, name)
SELECT id::uuid, task_id::uuid, action, nullif(actor, '')::uuid, reason, was, nullif(name, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS r(id,
    task_id, action, actor, reason, was, name);

UPDATE "taskkit".taskkit_queued_task
SET control = 'STOP', control_by = $3, control_reason = nullif($4, ''), not_before = clock_timestamp(),
    stalled = true, modified_date = clock_timestamp(), modified_by = $2
WHERE id = ANY($1::text[]::uuid[]);

SELECT pg_notify($1, $2);

UPDATE "taskkit".taskkit_queued_task
SET control = 'STOP', control_by = $3, control_reason = nullif($4, ''), modified_date = clock_timestamp(),
    modified_by = $2
WHERE id = ANY($1::text[]::uuid[]);

UPDATE "taskkit".taskkit_queued_task
SET workflow_status = 'COMPLETED', partial = true, control = '', control_by = NULL, control_reason = NULL,
    waiting_reason = NULL, workflow_stopped_date = clock_timestamp(),
    workflow_status_desc = 'stopped while no worker had it', modified_date = clock_timestamp(),
    modified_by = $2
WHERE id = ANY($1::text[]::uuid[]);

UPDATE "taskkit".taskkit_task_parent SET waits = false WHERE task_id = ANY($1::text[]::uuid[]) AND waits;

SELECT 1
FROM "taskkit".taskkit_queued_task q
WHERE q.parent_id = ANY($1::text[]::uuid[]) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ANY($1::text[]) AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND q.control NOT IN ('STOP',
    'DELETE')
LIMIT 1;

COMMIT;
