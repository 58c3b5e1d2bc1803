-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queue SET paused = false, resumed_by = $2, resumed_reason = nullif($3, ''),
    resumed_date = clock_timestamp()
WHERE name = $1 AND paused;

SELECT pg_notify($1, $2);

COMMIT;
