-- Written by TestStatements; each statement once, in the order of execution.

SELECT 1 FROM taskkit_queued_task INDEXED BY taskkit_claim
WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue IN (SELECT value FROM json_each($1) WHERE value NOT IN (SELECT name FROM taskkit_queue WHERE paused))
  AND stalled IN (0, 1) AND priority IN (1, 2, 3, 4) AND not_before <= datetime('now', 'subsec')
  AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1;

BEGIN IMMEDIATE;

SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision,
    q.queue, q.owner_id, q.run_as_id,
  CASE WHEN octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.items_taken, q.items_done,
      q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
SELECT * FROM (
  SELECT rowid AS at, 1 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 1
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 1 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 1
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 2 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 2
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 2 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 2
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 3 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 3
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 3 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 3
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 4 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 4
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 4 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 4
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 5 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 1
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 5 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 1
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 6 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 2
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 6 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 2
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 7 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 3
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 7 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 3
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 8 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 4
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
UNION ALL
SELECT * FROM (
  SELECT rowid AS at, 8 AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($4,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 4
    AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0;

UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = datetime('now', 'subsec'), execution_started_date = NULL,
      scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = datetime('now', 'subsec')
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status || '' = 'QUEUED';

COMMIT;

SELECT CAST((julianday(min(not_before)) - julianday('now')) * 86400000.0 AS integer) + 1,
  EXISTS (SELECT 1 FROM taskkit_queue WHERE paused AND name IN (SELECT value FROM json_each($1))) FROM (
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 1
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 1
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 2
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 2
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 3
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 3
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 1 AND priority = 4
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 1 AND priority = 4
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 1
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 1
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 2
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 2
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 3
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 3
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[0]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[0]')
        AND paused)) AND stalled = 0 AND priority = 4
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = (SELECT json_extract($1,
        '$[1]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[1]')
        AND paused)) AND stalled = 0 AND priority = 4
    AND not_before > datetime('now', 'subsec')
  ORDER BY not_before LIMIT 1)
);
