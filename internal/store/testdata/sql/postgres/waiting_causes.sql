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
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM pg_catalog.unnest(ARRAY(SELECT queue FROM queues q WHERE queue IS NOT NULL)) AS w(queue)
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
), reasons AS (
  SELECT n.cause FROM unnest(ARRAY(SELECT queue FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT execution_component_name FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT codec_revision FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT rank FROM lanes WHERE rank IS NOT NULL)) AS w(queue, execution_component_name,
      codec_revision, rank) CROSS JOIN LATERAL (
    (SELECT CASE WHEN coalesce(t.waiting_reason, '') = '' THEN 'start' WHEN substr(t.waiting_reason, 1,
        7) = 'retry: ' THEN 'retry' WHEN substr(t.waiting_reason, 1,
        11) = 'throttled: ' THEN 'throttled' WHEN substr(t.waiting_reason, 1,
        22) = 'waits for its children' THEN 'children' WHEN substr(t.waiting_reason, 1,
        32) = 'waits for a permit of the limit ' THEN 'limit' WHEN substr(t.waiting_reason, 1,
        11) = 'its window ' THEN 'window' WHEN substr(t.waiting_reason, 1,
        12) = 'its rate is ' THEN 'rate' ELSE 'later' END AS cause FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = w.rank
      AND t.not_before > statement_timestamp() AND t.not_before < '9999-01-01 00:00:00+00'
    ORDER BY t.not_before,
        t.id LIMIT (SELECT $1::bigint)) UNION ALL (SELECT CASE WHEN coalesce(t.waiting_reason,
        '') = '' THEN 'start' WHEN substr(t.waiting_reason, 1,
        7) = 'retry: ' THEN 'retry' WHEN substr(t.waiting_reason, 1,
        11) = 'throttled: ' THEN 'throttled' WHEN substr(t.waiting_reason, 1,
        22) = 'waits for its children' THEN 'children' WHEN substr(t.waiting_reason, 1,
        32) = 'waits for a permit of the limit ' THEN 'limit' WHEN substr(t.waiting_reason, 1,
        11) = 'its window ' THEN 'window' WHEN substr(t.waiting_reason, 1,
        12) = 'its rate is ' THEN 'rate' ELSE 'later' END AS cause FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = w.rank
      AND t.not_before >= '9999-01-01 00:00:00+00'
    ORDER BY t.not_before, t.id LIMIT (SELECT $1::bigint))
  ) n LIMIT (SELECT $2::bigint)
)
SELECT cause, count(*) FROM reasons GROUP BY cause;

SELECT k.key, (SELECT count(*)
FROM (SELECT "q"."id"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END >= k.key
    AND (CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END,
    "q"."id") <= (k.key, $1)
ORDER BY CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END DESC,
    "q"."id" DESC
LIMIT 10000) p)
FROM (SELECT 'approval' AS key
UNION ALL SELECT 'paused' AS key
UNION ALL SELECT 'approval child' AS key
UNION ALL SELECT 'paused child' AS key
LIMIT (SELECT 9223372036854775807)) k;
