-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

DELETE FROM "taskkit".taskkit_schedule WHERE name = $1;

COMMIT;
