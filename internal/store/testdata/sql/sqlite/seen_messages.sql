-- Written by TestStatements; each statement once, in the order of execution.

SELECT message_id, id, outcome, body_hash
FROM taskkit_task_message
WHERE source = $1 AND message_id IN (SELECT value
FROM json_each($2));
