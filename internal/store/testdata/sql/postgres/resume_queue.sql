-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queue SET paused = false, resumed_by = $2, resumed_reason = nullif($3, ''),
    resumed_date = clock_timestamp()
WHERE name = $1 AND paused;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

SELECT pg_notify($1, $2);

COMMIT;
