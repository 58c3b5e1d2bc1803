-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING;

DELETE FROM taskkit_task_process WHERE ended_date < strftime('%Y-%m-%d %H:%M:%f', 'now', '-7 days');

COMMIT;
