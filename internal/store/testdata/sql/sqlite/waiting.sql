-- Written by TestStatements; each statement once, in the order of execution.

SELECT 1 FROM taskkit_queued_task INDEXED BY taskkit_claim
WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue IN (SELECT value FROM json_each($1) WHERE value NOT IN (SELECT name FROM taskkit_queue WHERE paused))
  AND stalled IN (0, 1) AND priority IN (1, 2, 3, 4) AND not_before <= datetime('now', 'subsec')
  AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1;
