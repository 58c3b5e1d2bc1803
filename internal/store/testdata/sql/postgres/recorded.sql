-- Written by TestStatements; each statement once, in the order of execution.

SELECT item FROM "taskkit".taskkit_task_item WHERE task_id = $1 AND item = ANY($2::text[]);
