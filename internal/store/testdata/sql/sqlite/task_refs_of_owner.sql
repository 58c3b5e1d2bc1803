-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted, t.last
FROM (SELECT *
FROM (SELECT p.*, true AS wanted, false AS last
FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`control`, `q`.`owner_id`, `q`.`queue`,
    `q`.`reference`, `q`.`unique_key`, `q`.`parent_id`, `q`.`follows_id`, `q`.`workflow_status`,
    `q`.`workflow_status_desc`, `q`.`workflow_stopped_date`, `q`.`control_reason`
FROM `taskkit_queued_task` AS `q`
WHERE parent_id IS NULL AND `q`.`owner_id` IS NOT NULL AND `q`.`owner_id` = ? AND `q`.`id` < ?
ORDER BY `q`.`id` DESC
LIMIT 10000) p) u) t
ORDER BY t.id DESC
LIMIT 10000;
