-- Written by TestStatements; each statement once, in the order of execution.

SELECT u.status, (c.reltuples::float8 * u.freq::float8)::bigint
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname
    AND s.attname = 'workflow_status'::name
CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(s.most_common_vals::text::text[]),
    pg_catalog.unnest(s.most_common_freqs)) AS u (status, freq)
WHERE n.nspname = $1::text::name AND c.relname = 'taskkit_queued_task'::name AND c.reltuples > 0::real;
