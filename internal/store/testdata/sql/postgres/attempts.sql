-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_attempt"."id", "taskkit"."taskkit_task_attempt"."task_id",
    "taskkit"."taskkit_task_attempt"."created_date", "taskkit"."taskkit_task_attempt"."process",
    "taskkit"."taskkit_task_attempt"."fence", "taskkit"."taskkit_task_attempt"."checkpoint_seq",
    "taskkit"."taskkit_task_attempt"."attempt", "taskkit"."taskkit_task_attempt"."class",
    "taskkit"."taskkit_task_attempt"."code", "taskkit"."taskkit_task_attempt"."detail"
FROM "taskkit"."taskkit_task_attempt"
WHERE "taskkit"."taskkit_task_attempt"."task_id" = $1
ORDER BY "taskkit"."taskkit_task_attempt"."id" DESC
LIMIT 10;
