-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_attempt`.`id`, `taskkit_task_attempt`.`task_id`, `taskkit_task_attempt`.`created_date`,
    `taskkit_task_attempt`.`process`, `taskkit_task_attempt`.`fence`, `taskkit_task_attempt`.`checkpoint_seq`,
    `taskkit_task_attempt`.`attempt`, `taskkit_task_attempt`.`class`, `taskkit_task_attempt`.`code`,
    `taskkit_task_attempt`.`detail`
FROM `taskkit_task_attempt`
WHERE `taskkit_task_attempt`.`task_id` = ?
ORDER BY `taskkit_task_attempt`.`id` DESC
LIMIT 10;
