-- Written by TestStatements; each statement once, in the order of execution.

SELECT k.limit_key, k.at_most,
  (SELECT count(*) FROM (SELECT l.task_id, l.fence,
      l.at_most FROM taskkit_task_limit l WHERE l.limit_key = k.limit_key
      AND NOT l.waiting) l WHERE (SELECT q.fence = l.fence AND q.workflow_status IN ('SCHEDULING',
      'EXECUTING') FROM taskkit_queued_task q WHERE q.id = l.task_id)),
  (SELECT count(*) FROM (SELECT l.task_id, l.fence,
      l.at_most FROM taskkit_task_limit l WHERE l.limit_key = k.limit_key
      AND l.waiting ORDER BY l.task_id LIMIT 1000) l WHERE (SELECT q.fence = l.fence
      AND q.workflow_status = 'QUEUED' FROM taskkit_queued_task q WHERE q.id = l.task_id)),
  (SELECT min(l.at_most) FROM (SELECT h.task_id, h.at_most FROM (SELECT l.task_id, l.fence,
      l.at_most FROM taskkit_task_limit l WHERE l.limit_key = k.limit_key
      AND NOT l.waiting) h UNION ALL SELECT w.task_id, w.at_most FROM (SELECT l.task_id, l.fence,
      l.at_most FROM taskkit_task_limit l WHERE l.limit_key = k.limit_key
      AND l.waiting ORDER BY l.task_id LIMIT 1000) w) l WHERE (SELECT q.workflow_status IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') FROM taskkit_queued_task q WHERE q.id = l.task_id))
FROM taskkit_limit k WHERE k.limit_key > $1 AND k.limit_key NOT LIKE 'taskkit.%'
  AND (k.at_most IS NOT NULL OR (SELECT 1 FROM taskkit_task_limit l WHERE l.limit_key = k.limit_key
      AND (SELECT q.workflow_status IN ('QUEUED', 'SCHEDULING',
      'EXECUTING') FROM taskkit_queued_task q WHERE q.id = l.task_id) LIMIT 1) = 1)
ORDER BY k.limit_key LIMIT $2;

SELECT limit_key, task_id, scheduled_by_process, executing FROM (
  SELECT l.limit_key, l.task_id, q.scheduled_by_process,
      count(*) OVER (PARTITION BY l.limit_key) AS executing,
    row_number() OVER (PARTITION BY l.limit_key ORDER BY l.task_id) AS n
  FROM taskkit_task_limit l JOIN taskkit_queued_task q ON q.id = l.task_id AND q.fence = l.fence
      AND q.workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHERE NOT l.waiting AND l.limit_key IN (SELECT value FROM json_each($1))
) h WHERE n <= $2 ORDER BY limit_key, n;
