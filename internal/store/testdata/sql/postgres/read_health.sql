-- Written by TestStatements; each statement once, in the order of execution.

WITH RECURSIVE touched AS MATERIALIZED (
  SELECT n.number, CASE WHEN strpos(n.name,
      '.') = 0 THEN pg_catalog.to_regclass(quote_ident(n.name))::oid ELSE (
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
    WHERE s.nspname = split_part(n.name, '.', 1)::name AND c.relname = split_part(n.name, '.', 2)::name
  ) END AS oid FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY n(name, number)
), work AS MATERIALIZED (
  SELECT v.pid, r.oid, v.command, v.phase, v.percent FROM (
    SELECT pid, datname, relid, 'VACUUM' AS command, phase, (heap_blks_scanned * 100 / nullif(heap_blks_total,
        0))::bigint AS percent
    FROM pg_catalog.pg_stat_progress_vacuum
    UNION ALL
    SELECT pid, datname, relid, command, phase, NULL FROM pg_catalog.pg_stat_progress_cluster
  ) v CROSS JOIN LATERAL (
    SELECT v.relid WHERE v.relid IS NOT NULL
    UNION ALL
    SELECT l.relation FROM pg_catalog.pg_locks l
    WHERE v.relid IS NULL AND l.pid = v.pid AND l.locktype = 'relation' AND l.granted
      AND l.mode IN ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
          AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
  ) r(oid)
  WHERE v.datname = current_database()
), above(pid, oid) AS (
  SELECT work.pid, work.oid FROM work
  UNION
  SELECT a.pid, p.oid FROM above a CROSS JOIN LATERAL (
    SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = a.oid
    UNION ALL
    SELECT d.refobjid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid
        AND c.relkind = 't'
    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = a.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass
  ) p(oid)
)
SELECT t.number, t.oid IS NULL, w.pid IS NOT NULL, coalesce(w.command, ''), coalesce(w.phase, ''),
    coalesce(w.percent, -1),
  coalesce(s.backend_type = 'autovacuum worker', false), coalesce(s.query LIKE '%(to prevent wraparound)%',
      false)
FROM touched t
LEFT JOIN above a ON a.oid = t.oid
LEFT JOIN work w ON w.pid = a.pid
LEFT JOIN pg_catalog.pg_stat_activity s ON s.pid = w.pid
ORDER BY t.number, w.pid;

SELECT coalesce(nullif(r.application_name, ''), 'of process ' || r.pid::text), r.state IS NULL,
  CASE WHEN r.replay_lsn < w.lsn THEN coalesce(extract(epoch FROM r.replay_lag) * 1000.0,
      0)::bigint ELSE 0 END,
  coalesce(greatest(pg_catalog.pg_wal_lsn_diff(w.lsn, r.replay_lsn), 0)::bigint, 0)
FROM pg_catalog.pg_stat_replication r CROSS JOIN (SELECT pg_catalog.pg_current_wal_lsn() AS lsn OFFSET 0) w
WHERE (r.state IS NULL OR r.state IN ('streaming', 'catchup') AND r.replay_lsn IS NOT NULL)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots l WHERE l.active_pid = r.pid
      AND l.slot_type = 'logical')
ORDER BY 1;

SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')::bigint, clock_timestamp();

WITH RECURSIVE touched AS MATERIALIZED (
  SELECT n.number, CASE WHEN strpos(n.name,
      '.') = 0 THEN pg_catalog.to_regclass(quote_ident(n.name))::oid ELSE (
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
    WHERE s.nspname = split_part(n.name, '.', 1)::name AND c.relname = split_part(n.name, '.', 2)::name
  ) END AS oid FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY n(name, number)
), waits AS MATERIALIZED (
  SELECT l.pid, (extract(epoch FROM clock_timestamp() - min(l.waitstart)) * 1000.0)::bigint AS waited
  FROM pg_catalog.pg_locks l WHERE NOT l.granted AND l.pid IS NOT NULL
  GROUP BY l.pid HAVING min(l.waitstart) < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
), waited AS MATERIALIZED (
  SELECT w.pid, l.relation AS oid FROM waits w JOIN pg_catalog.pg_locks l ON l.pid = w.pid
  WHERE l.locktype IN ('relation', 'tuple', 'extend', 'page') AND (NOT l.granted OR l.locktype = 'tuple')
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
), above(pid, oid) AS (
  SELECT waited.pid, waited.oid FROM waited
  UNION
  SELECT a.pid, p.oid FROM above a CROSS JOIN LATERAL (
    SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = a.oid
    UNION ALL
    SELECT d.refobjid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid
        AND c.relkind = 't'
    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = a.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass
  ) p(oid)
)
SELECT t.number,
    max(w.waited) FROM touched t JOIN above a ON a.oid = t.oid JOIN waits w ON w.pid = a.pid GROUP BY t.number
UNION ALL
SELECT 0, max(w.waited) FROM waits w WHERE EXISTS (
  SELECT FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid) JOIN pg_catalog.pg_locks h ON h.pid = b.pid
  WHERE h.locktype = 'relation' AND h.granted AND h.mode = 'RowShareLock'
      AND h.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
    AND h.relation = '"taskkit".taskkit_queued_task'::regclass
) HAVING max(w.waited) IS NOT NULL
ORDER BY 1;
