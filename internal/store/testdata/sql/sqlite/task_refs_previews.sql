-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted, t.last
FROM (SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN EXISTS (SELECT 1
FROM taskkit_task_plan p
WHERE p.task_id = `r`.`id` AND CAST(p.options ->> CAST('preview' AS text) AS text) IN ('true', '1'))
    AND `r`.`workflow_status` = 'QUEUED' AND `r`.`control` = 'PAUSE'
    AND `r`.`control_reason` LIKE 'it waits for approval %' THEN true ELSE false END AS wanted,
    row_number() OVER () = 5000 AS last
FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`control`, `q`.`owner_id`, `q`.`queue`,
    `q`.`reference`, `q`.`unique_key`, `q`.`parent_id`, `q`.`follows_id`, `q`.`workflow_status`,
    `q`.`workflow_status_desc`, `q`.`workflow_stopped_date`, `q`.`control_reason`
FROM `taskkit_queued_task` AS `q`
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END IS NOT NULL
    AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END = ?
ORDER BY `q`.`id` DESC
LIMIT 5000) r) s
WHERE wanted OR last
LIMIT 100) u
UNION ALL SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN EXISTS (SELECT 1
FROM taskkit_task_plan p
WHERE p.task_id = `r`.`id` AND CAST(p.options ->> CAST('preview' AS text) AS text) IN ('true', '1'))
    AND `r`.`workflow_status` = 'QUEUED' AND `r`.`control` = 'PAUSE'
    AND `r`.`control_reason` LIKE 'it waits for approval %' THEN true ELSE false END AS wanted,
    row_number() OVER () = 5000 AS last
FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`control`, `q`.`owner_id`, `q`.`queue`,
    `q`.`reference`, `q`.`unique_key`, `q`.`parent_id`, `q`.`follows_id`, `q`.`workflow_status`,
    `q`.`workflow_status_desc`, `q`.`workflow_stopped_date`, `q`.`control_reason`
FROM `taskkit_queued_task` AS `q`
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END IS NOT NULL
    AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END = ?
ORDER BY `q`.`id` DESC
LIMIT 5000) r) s
WHERE wanted OR last
LIMIT 100) u) t
ORDER BY t.id DESC
LIMIT 100;
