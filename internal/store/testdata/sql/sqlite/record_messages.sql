-- Written by TestStatements; each statement once, in the order of execution.

INSERT INTO taskkit_task_message (id, source, message_id, outcome, task_id, code, detail, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
