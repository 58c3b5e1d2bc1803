-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_result SET result = NULL WHERE id IN (
  SELECT id FROM "taskkit".taskkit_task_result WHERE expiry_date < clock_timestamp()
      AND expiry_date IS NOT NULL AND result IS NOT NULL
  ORDER BY expiry_date LIMIT $1 FOR UPDATE SKIP LOCKED);
