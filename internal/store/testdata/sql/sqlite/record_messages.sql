-- Written by TestStatements; each statement once, in the order of execution.

INSERT INTO taskkit_task_message (id, source, message_id, outcome, body_hash, task_id, code, detail, body,
    headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
