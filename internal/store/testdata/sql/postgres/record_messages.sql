-- Written by TestStatements; each statement once, in the order of execution.

INSERT INTO "taskkit".taskkit_task_message (id, source, message_id, outcome, task_id, code, detail, body)
SELECT id::uuid, source, message_id, outcome, nullif(task_id, '')::uuid, nullif(code, ''), nullif(detail, ''),
    nullif(body, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[]) AS r(id, source, message_id, outcome, task_id, code, detail, body);
