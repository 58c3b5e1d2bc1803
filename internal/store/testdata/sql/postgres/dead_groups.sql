-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, split_part(coalesce(workflow_status_desc, ''), ': ', 1) AS code, count(*),
    min(workflow_stopped_date), max(workflow_stopped_date), max(CAST(id AS text))
FROM "taskkit".taskkit_queued_task WHERE workflow_status IN ('ERROR', 'FAILURE')
  AND execution_component_name = ANY($1::text[])
  AND queue = $2
  AND split_part(coalesce(workflow_status_desc, ''), ': ', 1) = $3
  AND workflow_stopped_date < clock_timestamp() - $4::bigint::float8 * interval '1 millisecond'
GROUP BY 1, 2 ORDER BY 1, 2;
