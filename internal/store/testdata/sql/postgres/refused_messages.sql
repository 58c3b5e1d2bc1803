-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, source, message_id, created_date, outcome, coalesce(code, ''), coalesce(detail, ''), coalesce(body,
    '')
FROM "taskkit".taskkit_task_message WHERE source = $1 AND outcome = 'refused' ORDER BY id DESC LIMIT $2;

SELECT id, source, message_id, created_date, outcome, coalesce(code, ''), coalesce(detail, ''), coalesce(body,
    '')
FROM "taskkit".taskkit_task_message WHERE source = $1 AND outcome = 'refused'
    AND id < $3::text::uuid ORDER BY id DESC LIMIT $2;
