-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, created_date, id, created_date >= strftime('%Y-%m-%d %H:%M:%f', $1)
FROM taskkit_task_item
WHERE outcome <> 'skipped' AND outcome <> 'deferred' AND (created_date, id) < (strftime('%Y-%m-%d %H:%M:%f',
    $2), $3)
ORDER BY created_date DESC, id DESC
LIMIT $4;
