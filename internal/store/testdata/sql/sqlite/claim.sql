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
SELECT 1
FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
      AND t.not_before <= datetime('now', 'subsec') LIMIT 1;

BEGIN IMMEDIATE;

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
    FROM json_each($4) u CROSS JOIN json_each($2) k WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
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
SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision,
    q.queue, q.owner_id, q.run_as_id,
  CASE WHEN q.spec_revision IS NULL AND octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.position, q.round, q.deferred,
      q.items_done, q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
SELECT t.rowid AS at, r.value AS rank
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
    AND t.not_before <= datetime('now', 'subsec') AND (SELECT count(*) FROM waits) = 1
  UNION ALL
  SELECT CAST(e.value AS integer), r.value
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN json_each((
    SELECT json_group_array(at) FROM (
      SELECT e.value ->> 0 AS at FROM waits w CROSS JOIN json_each((
        SELECT json_group_array(json_array(at, not_before, id)) FROM (
          SELECT t.rowid AS at, t.not_before, t.id FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
            AND t.not_before <= datetime('now', 'subsec')
          ORDER BY t.not_before, t.id LIMIT $3 + 0)
      )) e
      ORDER BY e.value ->> 1, e.value ->> 2 LIMIT $3 + 0)
  )) e
  WHERE (SELECT count(*) FROM waits) > 1
  LIMIT $3 + 0
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0;

UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = datetime('now', 'subsec'), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = datetime('now', 'subsec')
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status || '' = 'QUEUED';

COMMIT;

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
SELECT CAST((julianday(min(due)) - julianday('now')) * 86400000.0 AS integer) + 1,
  EXISTS (SELECT 1 FROM taskkit_queue WHERE paused AND name IN (SELECT value FROM json_each($1)))
FROM (
  SELECT (SELECT t.not_before FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
      AND t.not_before > datetime('now', 'subsec')
    ORDER BY t.not_before LIMIT 1) AS due
  FROM json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN waits w
);
