-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, message_id, coalesce(body, ''), headers
FROM "taskkit".taskkit_task_message WHERE source = $1 AND outcome = 'redriven'
    AND headers IS NOT NULL ORDER BY id LIMIT $2;
