-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_schedule SET version = version + 1, triggered = $3, triggered_by = $4,
    trigger_reason = $5, last_wall = $6, last_task_id = $7, secrets = $8, last_error = $9,
    last_error_date = clock_timestamp(), next_date = $10::text::timestamptz, next_wall = $11, overdue = $12,
    buffered_wall = $13, due_date = $10::text::timestamptz
WHERE id IN (SELECT id FROM "taskkit".taskkit_schedule s WHERE id = $1::text::uuid
    AND version = $2 FOR NO KEY UPDATE OF s SKIP LOCKED);

COMMIT;
