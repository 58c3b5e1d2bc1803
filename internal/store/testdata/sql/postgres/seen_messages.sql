-- Written by TestStatements; each statement once, in the order of execution.

SELECT message_id, id, outcome, body_hash
FROM "taskkit".taskkit_task_message
WHERE source = $1 AND message_id = ANY($2::text[]);
