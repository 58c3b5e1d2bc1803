-- Written by TestStatements; each statement once, in the order of execution.

SELECT position, count(*) OVER () FROM "taskkit".taskkit_task_item
WHERE task_id = $1 AND outcome = 'deferred' AND position > $2 ORDER BY position LIMIT $3;
