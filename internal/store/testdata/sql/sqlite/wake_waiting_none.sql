-- Written by TestStatements; each statement once, in the order of execution.

SELECT DISTINCT limit_key
FROM taskkit_task_limit
WHERE waiting AND limit_key IN (SELECT value
FROM json_each($1));
