-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_result"."id", "taskkit"."taskkit_task_result"."task_id",
    "taskkit"."taskkit_task_result"."result", "taskkit"."taskkit_task_result"."codec_revision",
    "taskkit"."taskkit_task_result"."finished_date", "taskkit"."taskkit_task_result"."fetched_date",
    "taskkit"."taskkit_task_result"."expiry_date", "taskkit"."taskkit_task_result"."keep_fetched_ms"
FROM "taskkit"."taskkit_task_result"
WHERE "taskkit"."taskkit_task_result"."task_id" = $1
LIMIT 2;

SELECT "taskkit_queued_task"."id"
FROM "taskkit"."taskkit_queued_task"
WHERE "taskkit"."taskkit_queued_task"."id" = $1
LIMIT 1;
