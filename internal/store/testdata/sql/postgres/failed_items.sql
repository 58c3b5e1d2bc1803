-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, created_date, id, created_date >= $1::text::timestamptz
FROM "taskkit".taskkit_task_item
WHERE outcome <> 'skipped' AND outcome <> 'deferred' AND (created_date, id) < ($2::text::timestamptz,
    $3::text::uuid)
ORDER BY created_date DESC, id DESC
LIMIT $4;
