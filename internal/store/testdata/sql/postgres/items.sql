-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_item"."id", "taskkit"."taskkit_task_item"."task_id",
    "taskkit"."taskkit_task_item"."created_date", "taskkit"."taskkit_task_item"."position",
    "taskkit"."taskkit_task_item"."attempt", "taskkit"."taskkit_task_item"."outcome",
    "taskkit"."taskkit_task_item"."code", "taskkit"."taskkit_task_item"."item",
    "taskkit"."taskkit_task_item"."detail"
FROM "taskkit"."taskkit_task_item"
WHERE ("taskkit"."taskkit_task_item"."task_id" = $1 AND "taskkit"."taskkit_task_item"."outcome" = $2)
    AND ("taskkit"."taskkit_task_item"."position", "taskkit"."taskkit_task_item"."id") > ($3, $4)
ORDER BY "taskkit"."taskkit_task_item"."position", "taskkit"."taskkit_task_item"."id"
LIMIT 10;
