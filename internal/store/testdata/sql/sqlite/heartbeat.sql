-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET last_heartbeat_date = datetime('now', 'subsec'), draining = $2,
    presence_lock = nullif(presence_lock, $3)
WHERE id = $1 AND ended_date IS NULL;

COMMIT;
