-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_event_prune (id, before_date)
VALUES ($1, clock_timestamp() - $2::bigint::float8 * interval '1 millisecond');

WITH old AS MATERIALIZED (
  SELECT id FROM "taskkit".taskkit_task_event
  WHERE created_date < (SELECT before_date FROM "taskkit".taskkit_event_prune WHERE id = $1)
  ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM "taskkit".taskkit_task_event WHERE id IN (SELECT id FROM old);

DELETE FROM "taskkit".taskkit_event_prune WHERE id = $1;

COMMIT;
