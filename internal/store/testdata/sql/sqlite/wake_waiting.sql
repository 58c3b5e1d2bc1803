-- Written by TestStatements; each statement once, in the order of execution.

SELECT k.limit_key
FROM taskkit_limit k
WHERE k.limit_key IN (SELECT value
FROM json_each($1)) AND (SELECT 1
FROM (SELECT l.task_id, l.fence, l.at_most
FROM taskkit_task_limit l
WHERE l.limit_key = k.limit_key AND l.waiting
ORDER BY l.task_id
LIMIT 1) w) = 1;

BEGIN IMMEDIATE;

INSERT INTO taskkit_limit (id, limit_key) VALUES ($1, $2)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

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

DELETE FROM taskkit_task_limit WHERE id IN (SELECT value FROM json_each($1));

UPDATE taskkit_queued_task SET not_before = CASE WHEN created_date < datetime('now',
    'subsec') THEN created_date ELSE datetime('now', 'subsec') END,
    waiting_reason = 'a permit of its limit may be free', modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT q.id FROM taskkit_queued_task q WHERE q.id IN (SELECT value FROM json_each($1))
    AND q.workflow_status || '' = 'QUEUED' AND q.not_before > datetime('now', 'subsec')
  ORDER BY q.id ) RETURNING id;

COMMIT;
