-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_item`.`id`, `taskkit_task_item`.`task_id`, `taskkit_task_item`.`created_date`,
    `taskkit_task_item`.`position`, `taskkit_task_item`.`attempt`, `taskkit_task_item`.`outcome`,
    `taskkit_task_item`.`code`, `taskkit_task_item`.`item`, `taskkit_task_item`.`detail`
FROM `taskkit_task_item`
WHERE (`taskkit_task_item`.`task_id` = ? AND `taskkit_task_item`.`outcome` = ?)
    AND (`taskkit_task_item`.`position`, `taskkit_task_item`.`id`) > (?, ?)
ORDER BY `taskkit_task_item`.`position`, `taskkit_task_item`.`id`
LIMIT 10;
