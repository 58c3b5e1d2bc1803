-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, options FROM taskkit_task_plan WHERE options IS NOT NULL AND task_id = $1;
