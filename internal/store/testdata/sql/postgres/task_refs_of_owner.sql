-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted, t.last
FROM (SELECT *
FROM (SELECT p.*, true AS wanted, false AS last
FROM (SELECT "q"."id", "q"."execution_component_name", "q"."control", "q"."owner_id", "q"."queue",
    "q"."reference", "q"."unique_key", "q"."parent_id", "q"."follows_id", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."workflow_stopped_date", "q"."control_reason"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE workflow_status NOT IN ('SCHEDULING', 'EXECUTING') AND parent_id IS NULL
    AND "q"."owner_id" >= (SELECT $1::uuid) AND ("q"."owner_id", "q"."id") < ((SELECT $2::uuid), $3)
ORDER BY "q"."owner_id" DESC, "q"."id" DESC
LIMIT 10000) p) u
UNION ALL SELECT *
FROM (SELECT f.*, true AS wanted, false AS last
FROM (SELECT "q"."id", "q"."execution_component_name", "q"."control", "q"."owner_id", "q"."queue",
    "q"."reference", "q"."unique_key", "q"."parent_id", "q"."follows_id", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."workflow_stopped_date", "q"."control_reason"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE (workflow_status IN ('SCHEDULING', 'EXECUTING') AND "q"."id" < $4) AND CASE WHEN "q"."owner_id" = $5
    AND "q"."parent_id" IS NULL THEN true ELSE false END OFFSET 0) f) u) t
ORDER BY t.id DESC
LIMIT 10000;
