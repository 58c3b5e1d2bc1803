-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET reads_until_date = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds',
    $2 / 1000.0))
WHERE id = $1 AND ended_date IS NULL AND NOT EXISTS (
  SELECT 1 FROM taskkit_task_process p WHERE p.ended_date IS NULL AND p.reads_until_date > datetime('now',
      'subsec') AND p.id <> $1
    AND (p.id < $1 OR taskkit_task_process.reads_until_date IS NULL OR taskkit_task_process.reads_until_date <= datetime('now',
        'subsec')));

COMMIT;
