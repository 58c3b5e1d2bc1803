-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_process SET last_heartbeat_date = clock_timestamp(), draining = $2,
    presence_lock = nullif(presence_lock, $3)
WHERE id = $1 AND ended_date IS NULL;
