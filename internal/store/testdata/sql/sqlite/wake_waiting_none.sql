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
