-- Written by TestStatements; each statement once, in the order of execution.

SELECT m.id, m.source, m.message_id, m.created_date, m.outcome, coalesce(m.code, ''), coalesce(m.detail, ''),
    coalesce(m.body, ''),
  coalesce(m.headers, ''), coalesce(m.dead_letter_error, ''), m.redriven_date, m.redriven_by,
      coalesce(m.redriven_reason, '')
FROM taskkit_task_message m WHERE m.outcome = 'refused' AND m.source = $2 ORDER BY m.id DESC LIMIT $1;

SELECT m.id, m.source, m.message_id, m.created_date, m.outcome, coalesce(m.code, ''), coalesce(m.detail, ''),
    coalesce(m.body, ''),
  coalesce(m.headers, ''), coalesce(m.dead_letter_error, ''), m.redriven_date, m.redriven_by,
      coalesce(m.redriven_reason, '')
FROM taskkit_task_message m WHERE m.outcome = 'refused' AND m.source = $2
    AND m.code IN (SELECT value FROM json_each($3)) AND m.message_id IN (SELECT value FROM json_each($4))
    AND m.created_date >= strftime('%Y-%m-%d %H:%M:%f', $5) AND m.created_date < strftime('%Y-%m-%d %H:%M:%f',
    $6) AND m.id < $7 ORDER BY m.id DESC LIMIT $1;
