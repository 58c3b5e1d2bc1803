-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

WITH gone AS MATERIALIZED (
  SELECT p.id,
      CASE WHEN p.last_heartbeat_date < clock_timestamp() - p.dead_after_ms::float8 * interval '1 millisecond' THEN 'silent for longer than it said it may be' ELSE 'killed, crashed or cut off from the database' END AS reason FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND (p.last_heartbeat_date < clock_timestamp() - p.dead_after_ms::float8 * interval '1 millisecond' OR p.presence_lock = ANY($1::text[]::bigint[])
      AND p.absent_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond') ORDER BY p.id FOR UPDATE SKIP LOCKED
)
UPDATE "taskkit".taskkit_task_process SET ended_date = clock_timestamp(),
    ended_reason = (SELECT reason FROM gone WHERE gone.id = taskkit_task_process.id)
WHERE id IN (SELECT id FROM gone) RETURNING id;

SELECT q.id, coalesce(q.scheduled_by_process, ''), q.workflow_status,
    q.items_done + q.items_failed + q.items_skipped,
  (SELECT p.last_heartbeat_date FROM "taskkit".taskkit_task_process p WHERE p.id = q.scheduled_by_process),
      clock_timestamp()
FROM "taskkit".taskkit_queued_task q WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') AND NOT EXISTS (
    SELECT 1 FROM "taskkit".taskkit_task_process p WHERE p.id = scheduled_by_process
        AND p.ended_date IS NULL) ORDER BY q.created_date LIMIT $1 FOR UPDATE SKIP LOCKED;

COMMIT;

WITH asked AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q
  WHERE q.control = 'DELETE' AND (q.workflow_status || '' IN ('COMPLETED', 'ERROR', 'FAILURE')
    OR q.workflow_status || '' = 'QUEUED'
        AND (q.fence = 0 OR NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL AND NOT p.safe_mode
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))))
        AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
        AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
        AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
  ORDER BY q.id LIMIT $1 FOR UPDATE SKIP LOCKED
)
DELETE FROM "taskkit".taskkit_queued_task WHERE id IN (SELECT id FROM asked) RETURNING id;

WITH asked AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.control = 'STOP' AND (q.fence = 0 AND coalesce(q.control_reason,
        '') <> 'requested of its parent' OR NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL AND NOT p.safe_mode
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue)))
        AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
        AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
        AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
  ORDER BY q.id LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE "taskkit".taskkit_queued_task SET workflow_status = 'COMPLETED', partial = true, control = '',
    control_by = NULL, control_reason = NULL, waiting_reason = NULL, workflow_stopped_date = clock_timestamp(),
    workflow_status_desc = 'stopped while no live worker could run it', modified_date = clock_timestamp()
WHERE id IN (SELECT id FROM asked) RETURNING id;

SELECT 1 FROM "taskkit".taskkit_limit LIMIT 1;

SELECT task_id FROM "taskkit".taskkit_task_parent WHERE waits AND task_id > $1 ORDER BY task_id LIMIT $2;

WITH over AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q JOIN "taskkit".taskkit_task_parent p ON p.task_id = q.id
  WHERE q.id = ANY($1::text[]::uuid[]) AND p.waits AND q.fence = p.fence
      AND q.checkpoint_seq = p.checkpoint_seq
    AND q.workflow_status || '' = 'QUEUED' AND q.waiting_reason IN ('waits for its children',
        'waits for its children to end')
    AND (CASE WHEN p.open_at_most > 0 THEN (SELECT count(*) FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
        AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
        AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')) <= p.open_at_most
        ELSE NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
            AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
            AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
            AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0) END
      OR p.on_failure = 'pause'
          AND (SELECT count(*) FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
          AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
          AND c.workflow_status IN ('FAILURE', 'ERROR') AND c.workflow_status || '' IN ('FAILURE',
          'ERROR')) > p.failed_seen)
  ORDER BY q.id FOR NO KEY UPDATE OF q
)
UPDATE "taskkit".taskkit_queued_task SET not_before = clock_timestamp(),
    waiting_reason = 'its children have ended', modified_date = clock_timestamp()
WHERE id IN (SELECT id FROM over) RETURNING id;

SELECT pg_notify($1, $2);

SELECT q.id FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY($1::text[]::uuid[])
    AND EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
    AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING')
  AND (q.control = '' AND c.control = 'PAUSE' AND coalesce(c.control_reason,
      '') = 'requested of its parent' OR q.control = 'STOP' AND c.control NOT IN ('STOP',
      'DELETE') OR q.control = 'PAUSE' AND c.control = '' OR q.control = 'DELETE'
      AND c.control <> 'DELETE') LIMIT 1 OFFSET 0);
