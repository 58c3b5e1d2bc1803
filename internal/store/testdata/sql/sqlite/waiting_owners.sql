-- Written by TestStatements; each statement once, in the order of execution.

WITH lane AS MATERIALIZED (
  SELECT l.queue, l.kind, l.revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = l.queue AND t.execution_component_name = l.kind AND t.codec_revision = l.revision
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END LIMIT 1) AS first FROM (
    SELECT u.value AS queue, substr(k.value, 1, instr(k.value, ' ') - 1) AS kind, CAST(substr(k.value,
        instr(k.value, ' ') + 1) AS integer) AS revision
    FROM json_each($1) u CROSS JOIN json_each($2) k WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
  ) l
), waits AS MATERIALIZED (
  SELECT l.queue, l.kind, l.revision, l.first,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
      4) END FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = l.queue AND t.execution_component_name = l.kind AND t.codec_revision = l.revision
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END DESC LIMIT 1) AS last FROM lane l WHERE l.first IS NOT NULL
)
SELECT DISTINCT owner_id, rank FROM (
  SELECT t.owner_id, r.value AS rank
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
      AND t.not_before <= datetime('now', 'subsec') LIMIT 1000
);
