-- Written by TestStatements; each statement once, in the order of execution.

SELECT /*/**/ 'sqlite3' --*/
/*/**/--*/ 'postgres';

PRAGMA journal_mode;

PRAGMA busy_timeout;
