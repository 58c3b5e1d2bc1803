-- Written by TestStatements; each statement once, in the order of execution.

WITH open(queue, tried) AS MATERIALIZED (
  SELECT u.value, EXISTS (SELECT 1 FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = u.value
          AND CASE WHEN t.stalled THEN t.priority WHEN t.attempts = 0 THEN t.priority + 4 ELSE t.priority * 3 + 5 + CASE WHEN t.attempts < 3 THEN t.attempts ELSE 3 END END >= 9)
  FROM json_each($1) u WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
)
SELECT DISTINCT owner_id, rank FROM (
  SELECT t.owner_id, r.value AS rank
  FROM json_each('[1,2,3,4,5,9,10,11,6,12,13,14,7,15,16,17,8,18,19,20]') r CROSS JOIN open u CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
  WHERE (u.tried OR r.value < 9)
    AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
    AND t.queue = u.queue
        AND CASE WHEN t.stalled THEN t.priority WHEN t.attempts = 0 THEN t.priority + 4 ELSE t.priority * 3 + 5 + CASE WHEN t.attempts < 3 THEN t.attempts ELSE 3 END END = r.value
        AND t.not_before <= datetime('now', 'subsec')
    AND t.execution_component_name || ' ' || t.codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1000
);
