-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, execution_component_name, workflow_status, items_failed + items_skipped,
  modified_date, not_before, clock_timestamp()
FROM "taskkit".taskkit_queued_task WHERE id > $1 ORDER BY id LIMIT $2;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

DELETE FROM "taskkit".taskkit_queued_task WHERE id IN (
  SELECT id FROM "taskkit".taskkit_queued_task q WHERE id = ANY($1::text[]::uuid[])
      AND workflow_status || '' = 'QUEUED'
      AND modified_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
      AND not_before < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
      AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
      AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
      AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task p WHERE p.id = q.parent_id
      AND p.workflow_status <> 'COMPLETED')) FOR UPDATE SKIP LOCKED) RETURNING id;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

COMMIT;
