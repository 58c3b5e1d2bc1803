-- Written by TestStatements; each statement once, in the order of execution.

SELECT datetime('now', 'subsec');

PRAGMA journal_mode;

PRAGMA synchronous;

PRAGMA busy_timeout;

SELECT file FROM pragma_database_list WHERE name = 'main';
