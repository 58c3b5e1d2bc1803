-- Written by TestStatements; each statement once, in the order of execution.

SELECT task_id, id, created_date, item, outcome, code, detail, position, attempt,
    CAST($5 AS bigint) <= 0 OR created_date >= clock_timestamp() - $5::bigint::float8 * interval '1 millisecond'
FROM "taskkit".taskkit_task_item
WHERE item >= (SELECT $1::text) AND (item, created_date, id) < ((SELECT $1::text), $2::text::timestamptz,
    $3::text::uuid)
ORDER BY item DESC, created_date DESC, id DESC
LIMIT $4;
