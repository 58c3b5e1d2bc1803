-- Written by TestStatements; each statement once, in the order of execution.

SELECT m.id, m.source, m.message_id, m.created_date, m.outcome, coalesce(m.code, ''), coalesce(m.detail, ''),
    coalesce(m.body, ''),
  coalesce(m.headers, ''), coalesce(m.dead_letter_error, ''), m.redriven_date, m.redriven_by,
      coalesce(m.redriven_reason, '')
FROM "taskkit".taskkit_task_message m WHERE m.outcome = 'refused'
    AND m.source = $2 ORDER BY m.id DESC LIMIT $1;

SELECT m.id, m.source, m.message_id, m.created_date, m.outcome, coalesce(m.code, ''), coalesce(m.detail, ''),
    coalesce(m.body, ''),
  coalesce(m.headers, ''), coalesce(m.dead_letter_error, ''), m.redriven_date, m.redriven_by,
      coalesce(m.redriven_reason, '')
FROM "taskkit".taskkit_task_message m WHERE m.outcome = 'refused' AND m.source = $2
    AND m.code = ANY($3::text[]) AND m.message_id = ANY($4::text[])
    AND m.created_date >= $5::text::timestamptz AND m.created_date < $6::text::timestamptz
    AND m.id < $7::text::uuid ORDER BY m.id DESC LIMIT $1;
