-- Written by TestStatements; each statement once, in the order of execution.

WITH RECURSIVE queues AS (
  SELECT (SELECT t.queue FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true
    ORDER BY t.queue LIMIT 1) AS queue
  UNION ALL
  SELECT (SELECT t.queue FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true AND t.queue > w.queue
    ORDER BY t.queue LIMIT 1) FROM queues w WHERE w.queue IS NOT NULL
), kinds AS (
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM pg_catalog.unnest(ARRAY(SELECT queue FROM queues q WHERE queue IS NOT NULL
        AND q.queue = $1)) AS w(queue)
  UNION ALL
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name > w.execution_component_name
    ORDER BY t.execution_component_name LIMIT 1) FROM kinds w WHERE w.execution_component_name IS NOT NULL
), revisions AS (
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name
    ORDER BY t.codec_revision LIMIT 1) AS codec_revision FROM unnest(ARRAY(SELECT queue FROM kinds q WHERE execution_component_name IS NOT NULL),
        ARRAY(SELECT execution_component_name FROM kinds q WHERE execution_component_name IS NOT NULL)) AS w(queue,
        execution_component_name)
  UNION ALL
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision > w.codec_revision
    ORDER BY t.codec_revision LIMIT 1) FROM revisions w WHERE w.codec_revision IS NOT NULL
), lanes AS (
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
        4) END LIMIT 1) AS rank FROM unnest(ARRAY(SELECT queue FROM revisions q WHERE codec_revision IS NOT NULL),
        ARRAY(SELECT execution_component_name FROM revisions q WHERE codec_revision IS NOT NULL),
        ARRAY(SELECT codec_revision FROM revisions q WHERE codec_revision IS NOT NULL)) AS w(queue,
        execution_component_name, codec_revision)
  UNION ALL
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END > w.rank
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
        4) END LIMIT 1) FROM lanes w WHERE w.rank IS NOT NULL
)
SELECT q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY (ARRAY(SELECT d.id FROM (SELECT w.queue,
    w.execution_component_name,
    w.codec_revision FROM unnest(ARRAY(SELECT queue FROM revisions WHERE codec_revision IS NOT NULL),
    ARRAY(SELECT execution_component_name FROM revisions WHERE codec_revision IS NOT NULL),
    ARRAY(SELECT codec_revision FROM revisions WHERE codec_revision IS NOT NULL)) AS w(queue,
    execution_component_name, codec_revision)) l CROSS JOIN (VALUES (1), (2), (3), (4), (5), (9), (13), (17),
    (6), (10), (14), (18), (7), (11), (15), (19), (8), (12), (16), (20)) r(rank) CROSS JOIN LATERAL (
    SELECT t.id FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = l.queue
        AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = r.rank
      AND t.not_before <= statement_timestamp() + $4::bigint::float8 * interval '1 millisecond'
      ORDER BY t.not_before, t.id LIMIT (SELECT $2::bigint)) d))
ORDER BY q.not_before, q.id LIMIT $3;
