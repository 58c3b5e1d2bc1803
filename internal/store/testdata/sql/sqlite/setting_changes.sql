-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_event`.`id`, `taskkit_task_event`.`task_id`, `taskkit_task_event`.`created_date`,
    `taskkit_task_event`.`action`, `taskkit_task_event`.`actor`, `taskkit_task_event`.`reason`,
    `taskkit_task_event`.`was`, `taskkit_task_event`.`setting`, `taskkit_task_event`.`name`,
    `taskkit_task_event`.`became`
FROM `taskkit_task_event`
WHERE ((`taskkit_task_event`.`task_id` = ? AND `taskkit_task_event`.`setting` = ?)
    AND `taskkit_task_event`.`name` = ?) AND `taskkit_task_event`.`id` < ?
ORDER BY `taskkit_task_event`.`id` DESC
LIMIT 10;
