-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted, t.last
FROM (SELECT *
FROM (SELECT f.*, true AS wanted, false AS last
FROM (SELECT "q"."id", "q"."execution_component_name", "q"."control", "q"."owner_id", "q"."queue",
    "q"."reference", "q"."unique_key", "q"."parent_id", "q"."follows_id", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."workflow_stopped_date", "q"."control_reason"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE "q"."id" IN ($1) AND CASE WHEN EXISTS (SELECT 1
FROM "taskkit".taskkit_task_plan p
WHERE p.task_id = "q"."id" AND CAST(p.options ->> CAST('preview' AS text) AS text) IN ('true',
    '1')) THEN true ELSE false END OFFSET 0) f) u) t
ORDER BY t.id DESC
LIMIT 100;
