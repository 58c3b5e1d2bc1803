-- Written by TestStatements; each statement once, in the order of execution.

SELECT c.relname::text, coalesce(s.n_live_tup, 0::bigint), coalesce(s.n_dead_tup, 0::bigint),
    greatest(s.last_vacuum, s.last_autovacuum),
  pg_catalog.age(c.relfrozenxid)::bigint,
  EXISTS (SELECT FROM pg_catalog.pg_options_to_table(c.reloptions) o WHERE o.option_name = 'autovacuum_enabled'::text
      AND NOT o.option_value::boolean),
  pg_catalog.clock_timestamp()
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid
WHERE n.nspname = $1::text::name AND c.relkind = 'r'::"char" AND pg_catalog.starts_with(c.relname::text,
    'taskkit_'::text)
ORDER BY c.relname;
