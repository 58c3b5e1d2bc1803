-- Written by TestStatements; each statement once, in the order of execution.

SELECT /*/**/ 'sqlite3' --*/
/*/**/--*/ 'postgres';

SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'taskkit' AND tablename = 'taskkit_goose_version';

SELECT coalesce(max(version_id), 0) FROM "taskkit".taskkit_goose_version WHERE is_applied;
