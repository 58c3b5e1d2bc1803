-- Written by TestStatements; each statement once, in the order of execution.

SELECT q.id, p.options, q.workflow_status, q.checkpoint_seq > 0, q.workflow_stopped_date,
    q.items_failed + q.items_skipped, clock_timestamp()
FROM (SELECT task_id, options, expiry_date FROM "taskkit".taskkit_task_plan
  WHERE expiry_date IS NOT NULL AND expiry_date < statement_timestamp()
  ORDER BY expiry_date LIMIT $1) p JOIN "taskkit".taskkit_queued_task q ON q.id = p.task_id ORDER BY p.expiry_date;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

WITH picked AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($2::text[]::uuid[])
      AND q.workflow_status || '' = 'QUEUED' AND q.control = ''
    AND (q.fence = 0 OR NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL AND NOT p.safe_mode
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue)))
        AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
        AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
        AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
    AND EXISTS (SELECT 1 FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id FOR NO KEY UPDATE OF q SKIP LOCKED
)
UPDATE "taskkit".taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1,
    scheduled_by_process = $1,
  scheduling_started_date = clock_timestamp(), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, modified_date = clock_timestamp()
WHERE id IN (SELECT id FROM picked) AND workflow_status || '' = 'QUEUED' RETURNING id;

UPDATE "taskkit".taskkit_queued_task SET workflow_status = 'FAILURE', workflow_status_desc = $2,
    scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, execution_started_date = clock_timestamp(),
      workflow_stopped_date = clock_timestamp(), modified_date = clock_timestamp()
WHERE id = $1 AND workflow_status || '' = 'SCHEDULING';

UPDATE "taskkit".taskkit_task_parent SET waits = false WHERE task_id = ANY($1::text[]::uuid[]) AND waits;

UPDATE "taskkit".taskkit_task_plan SET expiry_date = $2::text::timestamptz WHERE task_id = $1;

COMMIT;
