-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_process SET reads_until_date = clock_timestamp() + $2::bigint::float8 * interval '1 millisecond'
WHERE id = $1 AND ended_date IS NULL AND NOT EXISTS (
  SELECT 1 FROM "taskkit".taskkit_task_process p WHERE p.ended_date IS NULL
      AND p.reads_until_date > clock_timestamp() AND p.id <> $1
    AND (p.id < $1 OR taskkit_task_process.reads_until_date IS NULL OR taskkit_task_process.reads_until_date <= clock_timestamp()));
