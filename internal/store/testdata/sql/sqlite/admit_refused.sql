-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_limit (id, limit_key) VALUES ($1, $2)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence
    AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING'), false)
FROM taskkit_limit k LEFT JOIN taskkit_task_limit l ON l.limit_key = k.limit_key AND NOT l.waiting
  LEFT JOIN taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key IN (SELECT value FROM json_each($1));

INSERT INTO taskkit_task_limit (id, task_id, limit_key, fence, at_most, waiting) VALUES ($1, $2, $3, $4, $5,
    $6)
ON CONFLICT (task_id, limit_key) DO UPDATE SET fence = excluded.fence, at_most = excluded.at_most,
    waiting = excluded.waiting WHERE taskkit_task_limit.fence <= excluded.fence;

COMMIT;
