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

WITH RECURSIVE keys(limit_key) AS (
  SELECT (SELECT l.limit_key FROM "taskkit".taskkit_task_limit l WHERE l.waiting
      AND l.limit_key > $1 ORDER BY l.limit_key, l.task_id LIMIT 1)
  UNION ALL
  SELECT (SELECT l.limit_key FROM "taskkit".taskkit_task_limit l WHERE l.waiting
      AND l.limit_key > k.limit_key ORDER BY l.limit_key, l.task_id LIMIT 1)
  FROM keys k WHERE k.limit_key IS NOT NULL
) SELECT limit_key FROM keys WHERE limit_key IS NOT NULL LIMIT $2;

SELECT k.limit_key
FROM "taskkit".taskkit_limit k
WHERE k.limit_key = ANY($1::text[]) AND (SELECT 1
FROM (SELECT l.task_id, l.fence, l.at_most
FROM "taskkit".taskkit_task_limit l
WHERE l.limit_key = k.limit_key AND l.waiting
ORDER BY l.task_id
LIMIT 1) w) = 1;

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

SELECT l.id, l.task_id, l.at_most, q.id IS NOT NULL AND q.fence = l.fence
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING'),
  coalesce(q.workflow_status || '' = 'QUEUED' AND q.not_before > clock_timestamp(), false),
  coalesce(q.control = 'PAUSE' OR EXISTS (SELECT 1 FROM "taskkit".taskkit_queue u WHERE u.name = q.queue
      AND u.paused), false)
FROM "taskkit".taskkit_task_limit l LEFT JOIN "taskkit".taskkit_queued_task q ON q.id = l.task_id
WHERE l.limit_key = $1 AND l.waiting AND l.task_id > $2 ORDER BY l.task_id LIMIT $3;

DELETE FROM "taskkit".taskkit_task_limit WHERE id = ANY($1::text[]::uuid[]);

SELECT k.limit_key FROM "taskkit".taskkit_limit k WHERE k.at_most IS NULL
    AND k.modified_date < clock_timestamp() - $1::bigint::float8 * interval '1 millisecond'
  AND NOT ((SELECT coalesce(max(CASE WHEN (SELECT q.workflow_status IN ('QUEUED', 'SCHEDULING',
      'EXECUTING') FROM "taskkit".taskkit_queued_task q WHERE q.id = l.task_id) THEN 1 END),
      CASE WHEN count(*) < 10 THEN 0 ELSE 1 END)
    FROM (SELECT h.task_id FROM (SELECT l.task_id, l.fence,
        l.at_most FROM "taskkit".taskkit_task_limit l WHERE l.limit_key = k.limit_key
        AND NOT l.waiting ORDER BY l.task_id LIMIT 10) h UNION ALL SELECT w.task_id FROM (SELECT l.task_id,
        l.fence, l.at_most FROM "taskkit".taskkit_task_limit l WHERE l.limit_key = k.limit_key
        AND l.waiting ORDER BY l.task_id LIMIT 10) w) l) = 1) LIMIT $2;

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
