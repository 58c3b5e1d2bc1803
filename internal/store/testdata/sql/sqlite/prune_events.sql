-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_event_prune (id, before_date)
VALUES ($1, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0)));

WITH old AS MATERIALIZED (
  SELECT id FROM taskkit_task_event
  WHERE created_date < (SELECT before_date FROM taskkit_event_prune WHERE id = $1)
  ORDER BY id LIMIT $2
)
DELETE FROM taskkit_task_event WHERE id IN (SELECT id FROM old);

DELETE FROM taskkit_event_prune WHERE id = $1;

COMMIT;
