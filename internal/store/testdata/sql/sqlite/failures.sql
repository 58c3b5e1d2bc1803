-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_failure`.`id`, `taskkit_task_failure`.`task_id`, `taskkit_task_failure`.`created_date`,
    `taskkit_task_failure`.`item`, `taskkit_task_failure`.`code`, `taskkit_task_failure`.`detail`,
    `taskkit_task_failure`.`attempt`
FROM `taskkit_task_failure`
WHERE `taskkit_task_failure`.`task_id` = ? AND `taskkit_task_failure`.`id` > ?
ORDER BY `taskkit_task_failure`.`id`
LIMIT 10;
