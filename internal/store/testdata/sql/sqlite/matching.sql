-- Written by TestStatements; each statement once, in the order of execution.

SELECT id
FROM (SELECT id
FROM taskkit_queued_task
ORDER BY id DESC
LIMIT 100000) n
WHERE CAST(id AS text) LIKE $1
ORDER BY id DESC
LIMIT $2;
