-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_event"."id", "taskkit"."taskkit_task_event"."task_id",
    "taskkit"."taskkit_task_event"."created_date", "taskkit"."taskkit_task_event"."action",
    "taskkit"."taskkit_task_event"."actor", "taskkit"."taskkit_task_event"."reason",
    "taskkit"."taskkit_task_event"."was", "taskkit"."taskkit_task_event"."setting",
    "taskkit"."taskkit_task_event"."name", "taskkit"."taskkit_task_event"."became"
FROM "taskkit"."taskkit_task_event"
WHERE "taskkit"."taskkit_task_event"."task_id" = $1
ORDER BY "taskkit"."taskkit_task_event"."id" DESC
LIMIT 10;
