-- Written by TestStatements; each statement once, in the order of execution.

SELECT /*/**/ 'sqlite3' --*/
/*/**/--*/ 'postgres';

SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'taskkit_goose_version';

SELECT coalesce(max(version_id), 0) FROM taskkit_goose_version WHERE is_applied;
