-- Written by TestStatements; each statement once, in the order of execution.

SELECT history
FROM "taskkit".taskkit_task_rate
WHERE execution_component_name = $1
ORDER BY task_id DESC
LIMIT $2;
