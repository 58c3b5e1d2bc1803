-- Written by TestStatements; each statement once, in the order of execution.

SELECT 1 FROM (
SELECT * FROM (
  SELECT rowid AS at, priority + 4 * CASE WHEN stalled THEN 0 ELSE min(attempts + 1,
      4) END AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP',
      'DELETE')
    AND workflow_status || '' = 'QUEUED' AND queue || '' IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
    AND not_before < '9999-01-01'
  ORDER BY control, id LIMIT $3 + 0)
);
