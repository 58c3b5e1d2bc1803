-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queue SET paused = false, resumed_by = $2, resumed_reason = nullif($3, ''),
    resumed_date = datetime('now', 'subsec')
WHERE name = $1 AND paused;

COMMIT;
