-- Written by TestStatements; each statement once, in the order of execution.

SELECT (SELECT coalesce(sum(s.numbackends), 0)::bigint FROM pg_catalog.pg_stat_database s),
  pg_catalog.current_setting('max_connections'::text)::bigint - pg_catalog.current_setting('superuser_reserved_connections'::text)::bigint
    - coalesce(pg_catalog.current_setting('reserved_connections'::text, true)::bigint, 0),
  coalesce((SELECT s.numbackends::bigint FROM pg_catalog.pg_stat_database s WHERE s.datid = d.oid), 0),
      d.datconnlimit::bigint
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database();
