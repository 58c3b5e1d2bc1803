-- Written by TestStatements; each statement once, in the order of execution.

SELECT DISTINCT limit_key FROM "taskkit".taskkit_task_limit WHERE waiting AND limit_key = ANY($1::text[]);
