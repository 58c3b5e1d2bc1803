-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_task_message
SET dead_letter_error = $3
WHERE source = $1 AND message_id = $2 AND outcome = 'refused';
