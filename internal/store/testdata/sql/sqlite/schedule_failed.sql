-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_schedule SET version = version + 1, triggered = $3, triggered_by = $4, trigger_reason = $5,
    last_wall = $6, last_task_id = $7, secrets = $8, last_error = $9, last_error_date = datetime('now',
    'subsec'), next_date = strftime('%Y-%m-%d %H:%M:%f', $10), next_wall = $11, overdue = $12,
    buffered_wall = $13, due_date = strftime('%Y-%m-%d %H:%M:%f', $10)
WHERE id IN (SELECT id FROM taskkit_schedule s WHERE id = $1 AND version = $2 );

COMMIT;
