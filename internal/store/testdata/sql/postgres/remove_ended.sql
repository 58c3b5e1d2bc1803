-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, workflow_stopped_date, items_failed + items_skipped FROM "taskkit".taskkit_queued_task
WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL AND execution_component_name = $1
    AND workflow_stopped_date < statement_timestamp() - $2::bigint::float8 * interval '1 millisecond'
ORDER BY workflow_stopped_date, id LIMIT $3;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

DELETE FROM "taskkit".taskkit_queued_task WHERE id IN (
  SELECT id FROM "taskkit".taskkit_queued_task q WHERE id = ANY($1::text[]::uuid[])
      AND workflow_status || '' IN ('COMPLETED', 'ERROR', 'FAILURE') AND coalesce(workflow_stopped_date,
      clock_timestamp()) < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task p WHERE p.id = q.parent_id
      AND p.workflow_status <> 'COMPLETED')) FOR UPDATE SKIP LOCKED) RETURNING id;

COMMIT;

SELECT id, workflow_stopped_date, items_failed + items_skipped FROM "taskkit".taskkit_queued_task
WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL AND execution_component_name = $1
    AND workflow_stopped_date < statement_timestamp() - $2::bigint::float8 * interval '1 millisecond'
    AND (workflow_stopped_date, id) > ($4::text::timestamptz, $5::text::uuid)
ORDER BY workflow_stopped_date, id LIMIT $3;
