-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_spec FROM taskkit_queued_task WHERE id = $1;
