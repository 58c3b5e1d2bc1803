-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_process SET found_alive_date = clock_timestamp()
WHERE id = $1 AND ended_reason IN ('silent for longer than it said it may be',
    'killed, crashed or cut off from the database') AND found_alive_date IS NULL;
