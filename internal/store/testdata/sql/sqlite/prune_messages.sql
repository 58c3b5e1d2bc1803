-- Written by TestStatements; each statement once, in the order of execution.

DELETE FROM taskkit_task_message WHERE id IN (
  SELECT m.id FROM taskkit_task_message m WHERE m.source = $1
      AND m.created_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
  AND NOT (m.outcome = 'redriven' AND m.headers IS NOT NULL) ORDER BY m.created_date LIMIT $3 );
