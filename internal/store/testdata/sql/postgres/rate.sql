-- Written by TestStatements; each statement once, in the order of execution.

SELECT history, measured_date FROM "taskkit".taskkit_task_rate WHERE task_id = $1;
