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
        AND q.queue = $1) w
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
)
SELECT q.id FROM taskkit_queued_task q WHERE q.id IN (SELECT e.value FROM (SELECT w.queue,
    w.execution_component_name, w.codec_revision FROM (SELECT queue, execution_component_name,
    codec_revision FROM revisions WHERE codec_revision IS NOT NULL) w) l CROSS JOIN json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN json_each((
    SELECT json_group_array(t.id) FROM (SELECT t.id FROM taskkit_queued_task t INDEXED BY taskkit_claim
      WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = l.queue
          AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision
          AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
        AND t.not_before <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $4 / 1000.0))
      ORDER BY t.not_before LIMIT $2 + 0) t)) e)
ORDER BY q.not_before, q.id LIMIT $3;
