-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_queued_task`.`workflow_status`, COUNT(*)
FROM `taskkit_queued_task`
GROUP BY `taskkit_queued_task`.`workflow_status`;
