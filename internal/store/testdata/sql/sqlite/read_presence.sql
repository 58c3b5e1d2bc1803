-- Written by TestStatements; each statement once, in the order of execution.

SELECT p.id, coalesce(p.presence_lock, 0), true, p.absent_date IS NOT NULL,
    coalesce(p.absent_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $1 / 1000.0)),
    false), datetime('now', 'subsec')
FROM taskkit_task_process p WHERE p.ended_date IS NULL ORDER BY p.id;

PRAGMA busy_timeout = 0;

PRAGMA journal_size_limit = 16777216;

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET absent_date = datetime('now', 'subsec') WHERE id IN (
  SELECT p.id FROM taskkit_task_process p
  WHERE p.presence_lock IN (SELECT value FROM json_each($1)) AND p.ended_date IS NULL
      AND p.absent_date IS NULL ORDER BY p.id );

COMMIT;
