-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

DELETE FROM taskkit_schedule WHERE name = $1;

COMMIT;
