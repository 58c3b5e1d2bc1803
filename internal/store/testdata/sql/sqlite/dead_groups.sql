-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, substr(coalesce(workflow_status_desc, ''), 1,
    instr(coalesce(workflow_status_desc, '') || ': ', ': ') - 1) AS code, count(*), min(workflow_stopped_date),
    max(workflow_stopped_date), max(CAST(id AS text))
FROM taskkit_queued_task WHERE workflow_status IN ('ERROR', 'FAILURE')
  AND execution_component_name IN (SELECT value FROM json_each($1))
  AND queue = $2
  AND substr(coalesce(workflow_status_desc, ''), 1, instr(coalesce(workflow_status_desc, '') || ': ',
      ': ') - 1) = $3
  AND workflow_stopped_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $4 / 1000.0))
GROUP BY 1, 2 ORDER BY 1, 2;
