-- Written by TestStatements; each statement once, in the order of execution.

SELECT s.slot_name::text, s.slot_type, coalesce(pg_catalog.pg_wal_lsn_diff(
  CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END,
      s.restart_lsn)::bigint, 0::bigint)
FROM pg_catalog.pg_replication_slots s WHERE NOT s.active AND NOT s.temporary
    AND s.restart_lsn IS NOT NULL ORDER BY s.slot_name LIMIT 20;
