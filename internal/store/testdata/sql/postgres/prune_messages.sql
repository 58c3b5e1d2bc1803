-- Written by TestStatements; each statement once, in the order of execution.

DELETE FROM "taskkit".taskkit_task_message WHERE id IN (
  SELECT m.id FROM "taskkit".taskkit_task_message m WHERE m.source = $1
      AND m.created_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
  AND NOT (m.outcome = 'redriven'
      AND m.headers IS NOT NULL) ORDER BY m.created_date LIMIT $3 FOR UPDATE SKIP LOCKED);
