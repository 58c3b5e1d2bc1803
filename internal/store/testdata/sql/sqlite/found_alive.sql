-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET found_alive_date = datetime('now', 'subsec')
WHERE id = $1 AND ended_reason IN ('silent for longer than it said it may be',
    'killed, crashed or cut off from the database') AND found_alive_date IS NULL;

COMMIT;
