-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_message SET outcome = 'redriven', redriven_date = clock_timestamp(),
    redriven_by = $3::text::uuid, redriven_reason = nullif($4, '')
WHERE outcome = 'refused' AND id IN (
  SELECT m.id FROM "taskkit".taskkit_task_message m WHERE m.outcome = 'refused' AND m.id > $2::text::uuid
      AND m.source = $5 ORDER BY m.id LIMIT $1)
RETURNING id, headers IS NULL;

UPDATE "taskkit".taskkit_task_message SET outcome = 'redriven', redriven_date = clock_timestamp(),
    redriven_by = $3::text::uuid, redriven_reason = nullif($4, '')
WHERE outcome = 'refused' AND id IN (
  SELECT m.id FROM "taskkit".taskkit_task_message m WHERE m.outcome = 'refused' AND m.id > $2::text::uuid
      AND m.source = $5 AND m.code = ANY($6::text[]) AND m.message_id = ANY($7::text[])
      AND m.created_date >= $8::text::timestamptz
      AND m.created_date < $9::text::timestamptz ORDER BY m.id LIMIT $1)
RETURNING id, headers IS NULL;
