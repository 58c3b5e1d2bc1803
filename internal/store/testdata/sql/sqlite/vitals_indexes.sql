-- Written by TestStatements; each statement once, in the order of execution.

SELECT name, true FROM sqlite_master WHERE type = 'index';
