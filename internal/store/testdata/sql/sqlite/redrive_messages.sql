-- Written by TestStatements; each statement once, in the order of execution.

UPDATE taskkit_task_message SET outcome = 'redriven', redriven_date = datetime('now', 'subsec'),
    redriven_by = $3, redriven_reason = nullif($4, '')
WHERE outcome = 'refused' AND id IN (
  SELECT m.id FROM taskkit_task_message m WHERE m.outcome = 'refused' AND m.id > $2
      AND m.source = $5 ORDER BY m.id LIMIT $1)
RETURNING id, headers IS NULL;

UPDATE taskkit_task_message SET outcome = 'redriven', redriven_date = datetime('now', 'subsec'),
    redriven_by = $3, redriven_reason = nullif($4, '')
WHERE outcome = 'refused' AND id IN (
  SELECT m.id FROM taskkit_task_message m WHERE m.outcome = 'refused' AND m.id > $2 AND m.source = $5
      AND m.code IN (SELECT value FROM json_each($6)) AND m.message_id IN (SELECT value FROM json_each($7))
      AND m.created_date >= strftime('%Y-%m-%d %H:%M:%f', $8)
      AND m.created_date < strftime('%Y-%m-%d %H:%M:%f', $9) ORDER BY m.id LIMIT $1)
RETURNING id, headers IS NULL;
