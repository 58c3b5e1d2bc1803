-- Written by TestStatements; each statement once, in the order of execution.

SELECT coalesce(CAST(sum(items) AS bigint), 0) FROM "taskkit".taskkit_task_ledger WHERE task_id = $1;
