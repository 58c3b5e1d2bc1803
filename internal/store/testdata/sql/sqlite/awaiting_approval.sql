-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.modified_date
FROM (SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN `r`.`workflow_status` = 'QUEUED' AND `r`.`control` = 'PAUSE'
    AND `r`.`control_reason` LIKE 'it waits for approval %' THEN true ELSE false END AS wanted,
    row_number() OVER () = 5000 AS last
FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`modified_date`, `q`.`workflow_status`,
    `q`.`control`, `q`.`control_reason`
FROM `taskkit_queued_task` AS `q`
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END IS NOT NULL
    AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END = ?
    AND `q`.`id` < ?
ORDER BY `q`.`id` DESC
LIMIT 5000) r) s
WHERE wanted OR last
LIMIT 10000) u
UNION ALL SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN `r`.`workflow_status` = 'QUEUED' AND `r`.`control` = 'PAUSE'
    AND `r`.`control_reason` LIKE 'it waits for approval %' THEN true ELSE false END AS wanted,
    row_number() OVER () = 5000 AS last
FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`modified_date`, `q`.`workflow_status`,
    `q`.`control`, `q`.`control_reason`
FROM `taskkit_queued_task` AS `q`
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END IS NOT NULL
    AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END = ?
    AND `q`.`id` < ?
ORDER BY `q`.`id` DESC
LIMIT 5000) r) s
WHERE wanted OR last
LIMIT 10000) u) t
WHERE t.wanted AND t.modified_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ? / 1000.0))
ORDER BY t.id
LIMIT ?;
