-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, options
FROM taskkit_task_plan
WHERE options IS NOT NULL AND task_id IN (SELECT value
FROM json_each($1));

SELECT a.task_id, a.created_date, a.process, a.fence, a.checkpoint_seq, a.attempt, a.class, a.code,
    substr(a.detail, 1, 2000)
FROM taskkit_task_attempt a JOIN taskkit_queued_task q ON q.id = a.task_id
    AND q.checkpoint_seq = a.checkpoint_seq
WHERE a.task_id IN (SELECT value FROM json_each($1)) ORDER BY a.task_id, a.id DESC;

SELECT task_id, action, actor, coalesce(reason, ''), was, created_date FROM (
  SELECT task_id, action, actor, reason, was, created_date, row_number() OVER (PARTITION BY task_id,
      action ORDER BY id DESC) AS n
  FROM taskkit_task_event WHERE task_id IN (SELECT value FROM json_each($1)) AND (action = 'retry'
    OR action = 'stop' AND was IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
) e WHERE n = 1;

SELECT l.task_id, l.limit_key FROM taskkit_task_limit l JOIN taskkit_queued_task q ON q.id = l.task_id
    AND q.fence = l.fence
WHERE l.waiting AND l.task_id IN (SELECT value FROM json_each($1));

SELECT limit_key, task_id, scheduled_by_process, executing FROM (
  SELECT l.limit_key, l.task_id, q.scheduled_by_process,
      count(*) OVER (PARTITION BY l.limit_key) AS executing,
    row_number() OVER (PARTITION BY l.limit_key ORDER BY l.task_id) AS n
  FROM taskkit_task_limit l JOIN taskkit_queued_task q ON q.id = l.task_id AND q.fence = l.fence
      AND q.workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHERE NOT l.waiting AND l.limit_key IN (SELECT value FROM json_each($1))
) h WHERE n <= $2 ORDER BY limit_key, n;
