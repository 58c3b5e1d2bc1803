-- Written by TestStatements; each statement once, in the order of execution.

SELECT `taskkit_task_result`.`id`, `taskkit_task_result`.`task_id`, `taskkit_task_result`.`result`,
    `taskkit_task_result`.`codec_revision`, `taskkit_task_result`.`finished_date`,
    `taskkit_task_result`.`fetched_date`, `taskkit_task_result`.`expiry_date`,
    `taskkit_task_result`.`keep_fetched_ms`
FROM `taskkit_task_result`
WHERE `taskkit_task_result`.`task_id` = ?
LIMIT 2;

UPDATE taskkit_task_result SET fetched_date = datetime('now', 'subsec'),
  expiry_date = CASE WHEN keep_fetched_ms IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now',
      printf('+%.3f seconds', keep_fetched_ms / 1000.0)) END WHERE task_id = $1 AND fetched_date IS NULL;
