-- Written by TestStatements; each statement once, in the order of execution.

RELEASE SAVEPOINT s; SAVEPOINT s;
