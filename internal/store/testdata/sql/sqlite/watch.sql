-- Written by TestStatements; each statement once, in the order of execution.

PRAGMA data_version;

SELECT file FROM pragma_database_list WHERE name = 'main';

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET presence_lock = $2, absent_date = NULL, last_heartbeat_date = datetime('now',
    'subsec')
WHERE id = $1 AND ended_date IS NULL;

COMMIT;
