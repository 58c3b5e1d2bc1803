-- Written by TestStatements; each statement once, in the order of execution.

SELECT owner_id, min(CASE WHEN stalled THEN 0 ELSE priority END) FROM (
  SELECT owner_id, stalled, priority FROM taskkit_queued_task INDEXED BY taskkit_claim
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' AND queue IN (SELECT value FROM json_each($1))
    AND stalled IN (0, 1) AND priority IN (1, 2, 3, 4) AND not_before <= datetime('now', 'subsec')
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1000
) GROUP BY owner_id;
