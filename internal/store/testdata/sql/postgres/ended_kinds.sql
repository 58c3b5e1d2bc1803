-- Written by TestStatements; each statement once, in the order of execution.

WITH RECURSIVE kinds(kind) AS (
  SELECT (SELECT execution_component_name FROM "taskkit".taskkit_queued_task WHERE workflow_stopped_date IS NOT NULL
      AND keep_ms IS NULL
    ORDER BY execution_component_name, workflow_stopped_date LIMIT 1)
  UNION ALL
  SELECT (SELECT execution_component_name FROM "taskkit".taskkit_queued_task WHERE workflow_stopped_date IS NOT NULL
      AND keep_ms IS NULL AND execution_component_name > k.kind
    ORDER BY execution_component_name, workflow_stopped_date LIMIT 1)
  FROM kinds k WHERE k.kind IS NOT NULL
)
SELECT k.kind,
    (SELECT workflow_stopped_date FROM "taskkit".taskkit_queued_task WHERE workflow_stopped_date IS NOT NULL
    AND keep_ms IS NULL AND execution_component_name = k.kind
    ORDER BY execution_component_name, workflow_stopped_date LIMIT 1), clock_timestamp()
FROM kinds k WHERE k.kind IS NOT NULL;
