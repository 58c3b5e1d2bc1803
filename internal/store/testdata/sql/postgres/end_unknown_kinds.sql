-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

WITH picked AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q JOIN "taskkit".taskkit_unknown_kind k
    ON k.execution_component_name = q.execution_component_name AND k.codec_revision = q.codec_revision
        AND k.queue = q.queue
  WHERE q.id = ANY (ARRAY(SELECT d.id FROM (SELECT k.queue, k.execution_component_name,
      k.codec_revision FROM "taskkit".taskkit_unknown_kind k WHERE k.first_seen_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
      AND k.last_seen_date > clock_timestamp() - $3::bigint::float8 * interval '1 millisecond') l CROSS JOIN (VALUES (1),
      (2), (3), (4), (5), (9), (13), (17), (6), (10), (14), (18), (7), (11), (15), (19), (8), (12), (16),
      (20)) r(rank) CROSS JOIN LATERAL (
    SELECT t.id FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = l.queue
        AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = r.rank
      AND t.not_before <= statement_timestamp() - $2::bigint::float8 * interval '1 millisecond'
      ORDER BY t.not_before, t.id LIMIT (SELECT $5::bigint)) d))
    AND q.workflow_status || '' = 'QUEUED' AND q.control = ''
    AND k.first_seen_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
        AND q.not_before < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
        AND k.last_seen_date > clock_timestamp() - $3::bigint::float8 * interval '1 millisecond'
    AND EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.ended_date IS NULL AND NOT p.safe_mode
        AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))
        AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))
        AND NOT EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
        AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
        AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
    AND q.queue || '' NOT IN (SELECT name FROM "taskkit".taskkit_queue WHERE paused)
    AND EXISTS (SELECT 1 FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id LIMIT $4 FOR NO KEY UPDATE OF q SKIP LOCKED
)
UPDATE "taskkit".taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1,
    scheduled_by_process = $1,
  scheduling_started_date = clock_timestamp(), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, modified_date = clock_timestamp()
WHERE id IN (SELECT id FROM picked) AND workflow_status || '' = 'QUEUED' RETURNING id;

UPDATE "taskkit".taskkit_queued_task SET workflow_status = 'ERROR', workflow_status_desc = $2,
    scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, workflow_stopped_date = clock_timestamp(),
      modified_date = clock_timestamp()
WHERE id = ANY($1::text[]::uuid[]) AND workflow_status || '' = 'SCHEDULING';

UPDATE "taskkit".taskkit_task_parent SET waits = false WHERE task_id = ANY($1::text[]::uuid[]) AND waits;

SELECT q.id, q.execution_component_name, q.queue, q.owner_id, q.workflow_status, q.partial,
  split_part(coalesce(q.workflow_status_desc, ''), ': ', 1), q.items_done, q.items_failed, q.items_skipped,
      coalesce(q.items_total, 0), clock_timestamp(), p.options
FROM "taskkit".taskkit_queued_task q JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = ANY($1::text[]::uuid[]) AND p.options ->> CAST('notify' AS text) IS NOT NULL ORDER BY q.id;

COMMIT;
