-- Written by TestStatements; each statement once, in the order of execution.

SELECT workflow_status, count(*) FILTER (WHERE CAST($1 AS text) IN ('', execution_component_name)), count(*)
FROM (SELECT workflow_status,
    execution_component_name FROM taskkit_queued_task ORDER BY id DESC LIMIT 100000) n GROUP BY workflow_status;
