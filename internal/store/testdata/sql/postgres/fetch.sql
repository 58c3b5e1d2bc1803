-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_task_result"."id", "taskkit"."taskkit_task_result"."task_id",
    "taskkit"."taskkit_task_result"."result", "taskkit"."taskkit_task_result"."codec_revision",
    "taskkit"."taskkit_task_result"."finished_date", "taskkit"."taskkit_task_result"."fetched_date",
    "taskkit"."taskkit_task_result"."expiry_date", "taskkit"."taskkit_task_result"."keep_fetched_ms"
FROM "taskkit"."taskkit_task_result"
WHERE "taskkit"."taskkit_task_result"."task_id" = $1
LIMIT 2;

UPDATE "taskkit".taskkit_task_result SET fetched_date = clock_timestamp(),
  expiry_date = CASE WHEN keep_fetched_ms IS NOT NULL THEN clock_timestamp() + keep_fetched_ms::float8 * interval '1 millisecond' END WHERE task_id = $1
      AND fetched_date IS NULL;
