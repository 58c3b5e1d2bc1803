-- Written by TestStatements; each statement once, in the order of execution.

WITH RECURSIVE kinds AS (
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue AND true
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM (SELECT DISTINCT u.queue FROM "taskkit".taskkit_task_process p CROSS JOIN LATERAL pg_catalog.jsonb_array_elements_text(p.queues::jsonb) u(queue) WHERE p.ended_date IS NULL
        AND NOT p.safe_mode) w
  WHERE w.queue NOT IN (SELECT name FROM "taskkit".taskkit_queue WHERE paused)
  UNION ALL
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name > w.execution_component_name
    ORDER BY t.execution_component_name LIMIT 1) FROM kinds w WHERE w.execution_component_name IS NOT NULL
), revisions AS (
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name
    ORDER BY t.codec_revision LIMIT 1) AS codec_revision FROM kinds w WHERE w.execution_component_name IS NOT NULL
  UNION ALL
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision > w.codec_revision
    ORDER BY t.codec_revision LIMIT 1) FROM revisions w WHERE w.codec_revision IS NOT NULL
)
SELECT q.execution_component_name, q.codec_revision, q.queue, count(*), clock_timestamp(),
    clock_timestamp() FROM "taskkit".taskkit_queued_task q
WHERE q.id = ANY (ARRAY(SELECT d.id FROM (SELECT q.queue, q.execution_component_name,
    q.codec_revision FROM revisions q WHERE q.codec_revision IS NOT NULL
    AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))) l CROSS JOIN (VALUES (1), (2), (3), (4), (5), (9),
        (13), (17), (6), (10), (14), (18), (7), (11), (15), (19), (8), (12), (16),
        (20)) r(rank) CROSS JOIN LATERAL (
    SELECT t.id FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = l.queue
        AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = r.rank
      AND t.not_before <= statement_timestamp()
      ORDER BY t.not_before, t.id LIMIT (SELECT $1::bigint)) d))
  AND q.workflow_status || '' = 'QUEUED' AND q.control = ''
GROUP BY 1, 2, 3;
