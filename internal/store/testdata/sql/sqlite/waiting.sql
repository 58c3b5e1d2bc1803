-- Written by TestStatements; each statement once, in the order of execution.

WITH open(queue, tried) AS MATERIALIZED (
  SELECT u.value, EXISTS (SELECT 1 FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = u.value AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
          4) END >= 9)
  FROM json_each($1) u WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
)
SELECT 1
FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN open u CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
WHERE (u.tried OR r.value < 9)
  AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
  AND t.queue = u.queue AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END = r.value AND t.not_before <= datetime('now', 'subsec')
  AND t.execution_component_name || ' ' || t.codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1;
