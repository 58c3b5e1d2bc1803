-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_limit (id, limit_key) VALUES ($1, $2)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT coalesce(at_most, 0) FROM taskkit_limit WHERE limit_key = $1;

UPDATE taskkit_limit
SET at_most = $2, modified_by = $3, modified_date = datetime('now', 'subsec')
WHERE limit_key = $1;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence
    AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING'), false)
FROM taskkit_limit k LEFT JOIN taskkit_task_limit l ON l.limit_key = k.limit_key AND NOT l.waiting
  LEFT JOIN taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key IN (SELECT value FROM json_each($1));

SELECT l.id, l.task_id, l.at_most, q.id IS NOT NULL AND q.fence = l.fence
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING'),
  coalesce(q.workflow_status || '' = 'QUEUED' AND q.not_before > datetime('now', 'subsec'), false),
  coalesce(q.control = 'PAUSE' OR EXISTS (SELECT 1 FROM taskkit_queue u WHERE u.name = q.queue AND u.paused),
      false)
FROM taskkit_task_limit l LEFT JOIN taskkit_queued_task q ON q.id = l.task_id
WHERE l.limit_key = $1 AND l.waiting AND l.task_id > $2 ORDER BY l.task_id LIMIT $3;

COMMIT;
