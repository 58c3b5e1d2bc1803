-- Written by TestStatements; each statement once, in the order of execution.

SELECT item FROM taskkit_task_item WHERE task_id = $1 AND item IN (SELECT value FROM json_each($2));
