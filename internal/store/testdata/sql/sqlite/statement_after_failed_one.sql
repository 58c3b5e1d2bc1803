-- Written by TestStatements; each statement once, in the order of execution.

SELECT no_such_column;

BEGIN;

SELECT 1;
