-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_queued_task"."id", "taskkit"."taskkit_queued_task"."created_date",
    "taskkit"."taskkit_queued_task"."modified_date", "taskkit"."taskkit_queued_task"."created_by",
    "taskkit"."taskkit_queued_task"."modified_by", "taskkit"."taskkit_queued_task"."codec_revision",
    "taskkit"."taskkit_queued_task"."spec_revision", "taskkit"."taskkit_queued_task"."secrets",
    "taskkit"."taskkit_queued_task"."workflow_status", "taskkit"."taskkit_queued_task"."workflow_status_desc",
    "taskkit"."taskkit_queued_task"."partial", "taskkit"."taskkit_queued_task"."waiting_reason",
    "taskkit"."taskkit_queued_task"."scheduling_started_date",
    "taskkit"."taskkit_queued_task"."first_started_date",
    "taskkit"."taskkit_queued_task"."execution_started_date",
    "taskkit"."taskkit_queued_task"."workflow_stopped_date",
    "taskkit"."taskkit_queued_task"."scheduled_by_process", "taskkit"."taskkit_queued_task"."fence",
    "taskkit"."taskkit_queued_task"."checkpoint_seq", "taskkit"."taskkit_queued_task"."attempts",
    "taskkit"."taskkit_queued_task"."not_before", "taskkit"."taskkit_queued_task"."priority",
    "taskkit"."taskkit_queued_task"."stalled", "taskkit"."taskkit_queued_task"."control",
    "taskkit"."taskkit_queued_task"."control_by", "taskkit"."taskkit_queued_task"."control_reason",
    "taskkit"."taskkit_queued_task"."items_total", "taskkit"."taskkit_queued_task"."position",
    "taskkit"."taskkit_queued_task"."round", "taskkit"."taskkit_queued_task"."deferred",
    "taskkit"."taskkit_queued_task"."items_done", "taskkit"."taskkit_queued_task"."items_failed",
    "taskkit"."taskkit_queued_task"."items_skipped", "taskkit"."taskkit_queued_task"."owner_id",
    "taskkit"."taskkit_queued_task"."run_as_id", "taskkit"."taskkit_queued_task"."execution_component_name",
    "taskkit"."taskkit_queued_task"."queue", "taskkit"."taskkit_queued_task"."reference",
    "taskkit"."taskkit_queued_task"."reason", "taskkit"."taskkit_queued_task"."unique_key",
    "taskkit"."taskkit_queued_task"."idempotency_key", "taskkit"."taskkit_queued_task"."parent_id",
    "taskkit"."taskkit_queued_task"."follows_id", "taskkit"."taskkit_queued_task"."traceparent",
    "taskkit"."taskkit_queued_task"."targets_field", "taskkit"."taskkit_queued_task"."reference_version",
    clock_timestamp(),
    CASE WHEN "taskkit"."taskkit_queued_task"."workflow_status" = 'COMPLETED' THEN coalesce((SELECT CAST(extract(epoch
FROM r.expiry_date) * 1000.0 AS bigint)
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = "taskkit"."taskkit_queued_task"."id"), 0) ELSE 0 END,
    CASE WHEN "taskkit"."taskkit_queued_task"."workflow_status" = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = "taskkit"."taskkit_queued_task"."id"), false) ELSE false END, EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = "taskkit"."taskkit_queued_task"."id" AND c.parent_id IS NOT NULL
    AND c.parent_id::text = ("taskkit"."taskkit_queued_task"."id")::text
LIMIT 1 OFFSET 0)
FROM "taskkit"."taskkit_queued_task"
WHERE "taskkit"."taskkit_queued_task"."id" IN (SELECT "id"
FROM (SELECT "taskkit"."taskkit_queued_task"."id"
FROM "taskkit"."taskkit_queued_task"
WHERE (workflow_status NOT IN ('SCHEDULING', 'EXECUTING') AND "taskkit"."taskkit_queued_task"."id" < $1)
    AND "taskkit"."taskkit_queued_task"."owner_id" = $2
ORDER BY "taskkit"."taskkit_queued_task"."id" DESC
LIMIT 10) AS "resting"
UNION ALL SELECT "taskkit"."taskkit_queued_task"."id"
FROM "taskkit"."taskkit_queued_task"
WHERE (workflow_status IN ('SCHEDULING', 'EXECUTING') AND "taskkit"."taskkit_queued_task"."id" < $3)
    AND "taskkit"."taskkit_queued_task"."owner_id" = $4)
ORDER BY "taskkit"."taskkit_queued_task"."id" DESC
LIMIT 10;
