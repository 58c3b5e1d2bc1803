-- Written by TestStatements; each statement once, in the order of execution.

SELECT k.limit_key
FROM "taskkit".taskkit_limit k
WHERE k.limit_key = ANY($1::text[]) AND (SELECT 1
FROM (SELECT l.task_id, l.fence, l.at_most
FROM "taskkit".taskkit_task_limit l
WHERE l.limit_key = k.limit_key AND l.waiting
ORDER BY l.task_id
LIMIT 1) w) = 1;
