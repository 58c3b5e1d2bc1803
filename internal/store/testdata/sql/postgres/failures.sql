-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_failure"."id", "taskkit"."taskkit_task_failure"."task_id",
    "taskkit"."taskkit_task_failure"."created_date", "taskkit"."taskkit_task_failure"."item",
    "taskkit"."taskkit_task_failure"."code", "taskkit"."taskkit_task_failure"."detail",
    "taskkit"."taskkit_task_failure"."attempt"
FROM "taskkit"."taskkit_task_failure"
WHERE "taskkit"."taskkit_task_failure"."task_id" = $1 AND "taskkit"."taskkit_task_failure"."id" > $2
ORDER BY "taskkit"."taskkit_task_failure"."id"
LIMIT 10;
