-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_limit (id, limit_key) VALUES ($1, $2)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence
    AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING'), false)
FROM taskkit_limit k LEFT JOIN taskkit_task_limit l ON l.limit_key = k.limit_key AND NOT l.waiting
  LEFT JOIN taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key IN (SELECT value FROM json_each($1));

SELECT execution_component_name, reference, version FROM taskkit_reference_version
WHERE execution_component_name IN (SELECT value FROM json_each($1))
    AND reference IN (SELECT value FROM json_each($2)) AND version IS NOT NULL;

COMMIT;
