-- Written by TestStatements; each statement once, in the order of execution.

SELECT message_id, outcome
FROM taskkit_task_message
WHERE source = $1 AND message_id IN (SELECT value
FROM json_each($2));
