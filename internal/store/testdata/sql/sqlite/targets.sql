-- Written by TestStatements; each statement once, in the order of execution.

SELECT page, keys FROM taskkit_task_target
WHERE task_id = $1 AND page BETWEEN $2 AND $3 ORDER BY page;
