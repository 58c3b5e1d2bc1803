-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT id FROM (
  SELECT id, created_date FROM taskkit_task_event ORDER BY id LIMIT $1
) page WHERE created_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0));

INSERT INTO taskkit_event_prune (id, before_date)
VALUES ($1, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0)));

DELETE FROM taskkit_task_event WHERE id IN (
  SELECT id FROM taskkit_task_event WHERE id IN (SELECT value FROM json_each($1)) );

DELETE FROM taskkit_event_prune WHERE id = $1;

COMMIT;
