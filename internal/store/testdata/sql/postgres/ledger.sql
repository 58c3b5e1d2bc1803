-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_ledger"."id", "taskkit"."taskkit_task_ledger"."task_id",
    "taskkit"."taskkit_task_ledger"."created_date", "taskkit"."taskkit_task_ledger"."batch",
    "taskkit"."taskkit_task_ledger"."items", "taskkit"."taskkit_task_ledger"."keys"
FROM "taskkit"."taskkit_task_ledger"
WHERE "taskkit"."taskkit_task_ledger"."task_id" = $1 AND "taskkit"."taskkit_task_ledger"."batch" > $2
ORDER BY "taskkit"."taskkit_task_ledger"."batch"
LIMIT 10;
