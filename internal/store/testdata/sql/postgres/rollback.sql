-- Written by TestStatements; each statement once, in the order of execution.

ROLLBACK;
