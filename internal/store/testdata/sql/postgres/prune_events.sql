-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT id FROM (
  SELECT id, created_date FROM "taskkit".taskkit_task_event ORDER BY id LIMIT $1
) page WHERE created_date < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond';

INSERT INTO "taskkit".taskkit_event_prune (id, before_date)
VALUES ($1, clock_timestamp() - $2::bigint::float8 * interval '1 millisecond');

DELETE FROM "taskkit".taskkit_task_event WHERE id IN (
  SELECT id FROM "taskkit".taskkit_task_event WHERE id = ANY($1::text[]::uuid[]) FOR UPDATE SKIP LOCKED);

DELETE FROM "taskkit".taskkit_event_prune WHERE id = $1;

COMMIT;
