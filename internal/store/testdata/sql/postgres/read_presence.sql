-- Written by TestStatements; each statement once, in the order of execution.

WITH held AS MATERIALIZED (
  SELECT (l.classid::bigint << 32) | l.objid::bigint AS lock FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
)
SELECT p.id, coalesce(p.presence_lock, 0), NOT EXISTS (SELECT 1 FROM held WHERE held.lock = p.presence_lock),
    p.absent_date IS NOT NULL,
    coalesce(p.absent_date < clock_timestamp() - $1::bigint::float8 * interval '1 millisecond', false),
    clock_timestamp()
FROM "taskkit".taskkit_task_process p WHERE p.ended_date IS NULL ORDER BY p.id;

UPDATE "taskkit".taskkit_task_process SET absent_date = clock_timestamp() WHERE id IN (
  SELECT p.id FROM "taskkit".taskkit_task_process p
  WHERE p.presence_lock = ANY($1::text[]::bigint[]) AND p.ended_date IS NULL
      AND p.absent_date IS NULL ORDER BY p.id FOR UPDATE SKIP LOCKED);
