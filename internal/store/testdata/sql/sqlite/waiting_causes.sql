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
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM (SELECT queue FROM queues q WHERE queue IS NOT NULL) w
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
        codec_revision FROM revisions q WHERE codec_revision IS NOT NULL) w
  UNION ALL
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END > w.rank
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END LIMIT 1) FROM lanes w WHERE w.rank IS NOT NULL
), reasons AS (
  SELECT e.value AS cause FROM (SELECT queue, execution_component_name, codec_revision,
      rank FROM lanes WHERE rank IS NOT NULL) w CROSS JOIN json_each((SELECT json_group_array(cause) FROM (
    SELECT * FROM (SELECT CASE WHEN coalesce(t.waiting_reason,
        '') = '' THEN 'start' WHEN substr(t.waiting_reason, 1,
        7) = 'retry: ' THEN 'retry' WHEN substr(t.waiting_reason, 1,
        11) = 'throttled: ' THEN 'throttled' WHEN substr(t.waiting_reason, 1,
        22) = 'waits for its children' THEN 'children' WHEN substr(t.waiting_reason, 1,
        32) = 'waits for a permit of the limit ' THEN 'limit' WHEN substr(t.waiting_reason, 1,
        11) = 'its window ' THEN 'window' WHEN substr(t.waiting_reason, 1,
        12) = 'its rate is ' THEN 'rate' ELSE 'later' END AS cause FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = w.rank
      AND t.not_before > datetime('now', 'subsec') AND t.not_before < '9999-01-01'
    ORDER BY t.not_before LIMIT $1 + 0) UNION ALL SELECT * FROM (SELECT CASE WHEN coalesce(t.waiting_reason,
        '') = '' THEN 'start' WHEN substr(t.waiting_reason, 1,
        7) = 'retry: ' THEN 'retry' WHEN substr(t.waiting_reason, 1,
        11) = 'throttled: ' THEN 'throttled' WHEN substr(t.waiting_reason, 1,
        22) = 'waits for its children' THEN 'children' WHEN substr(t.waiting_reason, 1,
        32) = 'waits for a permit of the limit ' THEN 'limit' WHEN substr(t.waiting_reason, 1,
        11) = 'its window ' THEN 'window' WHEN substr(t.waiting_reason, 1,
        12) = 'its rate is ' THEN 'rate' ELSE 'later' END AS cause FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = w.rank
      AND t.not_before >= '9999-01-01'
    ORDER BY t.not_before LIMIT $1 + 0)
  ))) e LIMIT $2 + 0
)
SELECT cause, count(*) FROM reasons GROUP BY cause;

SELECT k.key, (SELECT count(*)
FROM (SELECT `q`.`id`
FROM `taskkit_queued_task` AS `q`
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END IS NOT NULL
    AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END = k.key
ORDER BY `q`.`id` DESC
LIMIT 10000) p)
FROM (SELECT 'approval' AS key
UNION ALL SELECT 'paused' AS key
UNION ALL SELECT 'approval child' AS key
UNION ALL SELECT 'paused child' AS key) k;
