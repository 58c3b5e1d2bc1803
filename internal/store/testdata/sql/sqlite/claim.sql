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

BEGIN IMMEDIATE;

WITH open(queue, tried) AS MATERIALIZED (
  SELECT u.value, EXISTS (SELECT 1 FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = u.value AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
          4) END >= 9)
  FROM json_each($4) u WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
)
SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision,
    q.queue, q.owner_id, q.run_as_id,
  CASE WHEN q.spec_revision IS NULL AND octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.position, q.round, q.deferred,
      q.items_done, q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
SELECT t.rowid AS at, r.value AS rank
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN open u CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
  WHERE (u.tried OR r.value < 9)
    AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
    AND t.queue = u.queue AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
        4) END = r.value AND t.not_before <= datetime('now', 'subsec')
    AND t.execution_component_name || ' ' || t.codec_revision IN (SELECT value FROM json_each($2))
  LIMIT $3 + 0
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0;

UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = datetime('now', 'subsec'), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = datetime('now', 'subsec')
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status || '' = 'QUEUED';

COMMIT;

WITH open(queue, tried) AS MATERIALIZED (
  SELECT u.value, EXISTS (SELECT 1 FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = u.value AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
          4) END >= 9)
  FROM json_each($1) u WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
)
SELECT CAST((julianday(min(due)) - julianday('now')) * 86400000.0 AS integer) + 1,
  EXISTS (SELECT 1 FROM taskkit_queue WHERE paused AND name IN (SELECT value FROM json_each($1)))
FROM (
  SELECT (SELECT t.not_before FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = u.queue AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1,
          4) END = r.value AND t.not_before > datetime('now', 'subsec')
    ORDER BY t.not_before LIMIT 1) AS due
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN open u
  WHERE (u.tried OR r.value < 9)
);
