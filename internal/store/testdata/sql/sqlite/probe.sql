-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

PRAGMA cache_size = 10;

INSERT INTO taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode)
VALUES ($1, $2, 1, '{}', '[]', 0, true);

ROLLBACK;
