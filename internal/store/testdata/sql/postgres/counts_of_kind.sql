-- Written by TestStatements; each statement once, in the order of execution.

SELECT "taskkit"."taskkit_queued_task"."workflow_status", COUNT(*)
FROM "taskkit"."taskkit_queued_task"
WHERE "taskkit"."taskkit_queued_task"."execution_component_name" = $1
GROUP BY "taskkit"."taskkit_queued_task"."workflow_status";
