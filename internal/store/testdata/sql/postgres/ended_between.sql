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
), counted(n) AS MATERIALIZED (
  SELECT (SELECT count(*) FROM (
    SELECT 1 FROM "taskkit".taskkit_queued_task WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL
        AND execution_component_name = k.kind
      AND workflow_stopped_date >= $1::text::timestamptz
          AND workflow_stopped_date < $2::text::timestamptz ORDER BY workflow_stopped_date LIMIT $3
  ) ended) FROM kinds k WHERE k.kind IS NOT NULL
)
SELECT CAST(coalesce(sum(n), 0) AS bigint), coalesce(max(n), 0) FROM counted;
