-- Written by TestStatements; each statement once, in the order of execution.

WITH RECURSIVE queues AS (
  SELECT (SELECT t.queue FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true
    ORDER BY t.queue LIMIT 1) AS queue
  UNION ALL
  SELECT (SELECT t.queue FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true AND t.queue > w.queue
    ORDER BY t.queue LIMIT 1) FROM queues w WHERE w.queue IS NOT NULL
), kinds AS (
  SELECT w.queue, (SELECT t.execution_component_name FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM (SELECT queue FROM queues q WHERE queue IS NOT NULL
        AND EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.queues) u WHERE p.ended_date IS NULL
        AND NOT p.safe_mode AND u.value = q.queue)
        AND q.queue NOT IN (SELECT name FROM taskkit_queue WHERE paused)) w
  UNION ALL
  SELECT w.queue, (SELECT t.execution_component_name FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name > w.execution_component_name
    ORDER BY t.execution_component_name LIMIT 1) FROM kinds w WHERE w.execution_component_name IS NOT NULL
), revisions AS (
  SELECT w.queue, w.execution_component_name,
      (SELECT t.codec_revision FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name
    ORDER BY t.codec_revision LIMIT 1) AS codec_revision FROM (SELECT queue,
        execution_component_name FROM kinds q WHERE execution_component_name IS NOT NULL) w
  UNION ALL
  SELECT w.queue, w.execution_component_name,
      (SELECT t.codec_revision FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision > w.codec_revision
    ORDER BY t.codec_revision LIMIT 1) FROM revisions w WHERE w.codec_revision IS NOT NULL
), lanes AS (
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END LIMIT 1) AS rank FROM (SELECT queue, execution_component_name,
        codec_revision FROM revisions q WHERE codec_revision IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue))) w
  UNION ALL
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END > w.rank
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END LIMIT 1) FROM lanes w WHERE w.rank IS NOT NULL
), counted AS (
  SELECT queue, execution_component_name, codec_revision, counts ->> 0 AS waiting, counts ->> 1 AS due,
      counts ->> 2 AS oldest FROM (
  SELECT w.queue, w.execution_component_name, w.codec_revision, (SELECT json_array(count(*),
      count(*) FILTER (WHERE t.not_before <= datetime('now', 'subsec')),
      min(t.not_before) FILTER (WHERE t.not_before <= datetime('now', 'subsec'))) FROM (
    SELECT t.not_before FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = w.rank
    ORDER BY t.not_before LIMIT $1 + 1
  ) t) AS counts FROM (SELECT queue, execution_component_name, codec_revision,
      rank FROM lanes WHERE rank IS NOT NULL) w LIMIT -1
) n
)
SELECT execution_component_name, codec_revision, queue,
    CAST(sum(CASE WHEN due > $1 THEN $1 ELSE due END) AS bigint), datetime('now', 'subsec'), datetime('now',
    'subsec') FROM counted WHERE due > 0
GROUP BY 1, 2, 3;
