-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_ledger`.`id`, `taskkit_task_ledger`.`task_id`, `taskkit_task_ledger`.`created_date`,
    `taskkit_task_ledger`.`batch`, `taskkit_task_ledger`.`items`, `taskkit_task_ledger`.`keys`
FROM `taskkit_task_ledger`
WHERE `taskkit_task_ledger`.`task_id` = ? AND `taskkit_task_ledger`.`batch` > ?
ORDER BY `taskkit_task_ledger`.`batch`
LIMIT 10;
