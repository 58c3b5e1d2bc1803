-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_message SET outcome = $2, task_id = $3, code = $4, detail = $5, body = $6,
    headers = $7
WHERE id = $1 AND outcome = 'redriven';
