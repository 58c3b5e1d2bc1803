-- Written by TestStatements; each statement once, in the order of execution.

SELECT pg_backend_pid();

LISTEN "taskkit_taskkit";

SELECT pg_notify($1, $2);

SELECT pg_catalog.pg_try_advisory_lock($1);

UPDATE "taskkit".taskkit_task_process SET presence_lock = $2, absent_date = NULL,
    last_heartbeat_date = clock_timestamp()
WHERE id = $1 AND ended_date IS NULL;

UNLISTEN *;
