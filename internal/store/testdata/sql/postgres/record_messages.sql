-- Written by TestStatements; each statement once, in the order of execution.

INSERT INTO "taskkit".taskkit_task_message (id, source, message_id, outcome, body_hash, task_id, code, detail,
    body, headers)
SELECT id::uuid, source, message_id, outcome, body_hash, nullif(task_id, '')::uuid, nullif(code, ''),
    nullif(detail, ''), nullif(body, ''), nullif(headers, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[]) AS r(id, source, message_id, outcome, body_hash, task_id, code, detail, body,
    headers);
