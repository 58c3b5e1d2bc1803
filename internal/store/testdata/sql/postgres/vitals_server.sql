-- Written by TestStatements; each statement once, in the order of execution.

SELECT pg_catalog.clock_timestamp(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.current_setting('default_transaction_read_only'::text) = 'on'::text,
      pg_catalog.current_setting('fsync'::text) = 'on'::text,
  pg_catalog.current_setting('synchronous_commit'::text),
      pg_catalog.current_setting('autovacuum'::text) = 'on'::text,
  pg_catalog.current_setting('autovacuum_freeze_max_age'::text)::bigint,
  pg_catalog.has_function_privilege('pg_catalog.pg_try_advisory_lock(bigint)'::text, 'EXECUTE'::text)
    AND pg_catalog.has_table_privilege('pg_catalog.pg_locks'::text, 'SELECT'::text),
  pg_catalog.pg_backend_pid()::bigint;
