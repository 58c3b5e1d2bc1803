-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, id, created_date, item, outcome, code, detail, position, attempt,
    CAST($5 AS bigint) <= 0 OR created_date >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    $5 / 1000.0))
FROM taskkit_task_item
WHERE item = $1 AND (created_date, id) < (strftime('%Y-%m-%d %H:%M:%f', $2), $3)
ORDER BY created_date DESC, id DESC
LIMIT $4;
