-- Written by TestStatements; each statement once, in the order of execution.

SELECT n.pid, n.prepared, n.application, n.usename, n.state, n.query, n.since,
    pg_catalog.clock_timestamp() FROM (
  SELECT s.pid::bigint AS pid, ''::text AS prepared, coalesce(s.application_name, ''::text) AS application,
      coalesce(s.usename::text, ''::text) AS usename,
    coalesce(s.state, ''::text) AS state, coalesce(pg_catalog.left(s.query, 200), ''::text) AS query,
        s.xact_start AS since
  FROM pg_catalog.pg_stat_activity s
  WHERE s.datname = pg_catalog.current_database() AND s.pid <> pg_catalog.pg_backend_pid()
    AND (s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL) AND s.xact_start IS NOT NULL
  UNION ALL
  SELECT 0::bigint, p.gid, ''::text, p.owner::text, 'prepared'::text, ''::text, p.prepared
  FROM pg_catalog.pg_prepared_xacts p WHERE p.database = pg_catalog.current_database()
) n WHERE pg_catalog.date_part('epoch'::text,
    pg_catalog.clock_timestamp() - n.since) > $1::float8 ORDER BY n.since LIMIT 20;

SELECT count(*) FROM pg_catalog.pg_stat_activity s
WHERE s.datname = pg_catalog.current_database() AND s.query = '<insufficient privilege>'::text;
