-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_result`.`id`, `taskkit_task_result`.`task_id`, `taskkit_task_result`.`result`,
    `taskkit_task_result`.`codec_revision`, `taskkit_task_result`.`finished_date`,
    `taskkit_task_result`.`fetched_date`, `taskkit_task_result`.`expiry_date`,
    `taskkit_task_result`.`keep_fetched_ms`
FROM `taskkit_task_result`
WHERE `taskkit_task_result`.`task_id` = ?
LIMIT 2;

SELECT `taskkit_queued_task`.`id` FROM `taskkit_queued_task` WHERE `taskkit_queued_task`.`id` = ? LIMIT 1;
