-- Written by TestStatements; each statement once, in the order of execution.

WITH schema AS MATERIALIZED (
  SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text::name
), tables AS MATERIALIZED (
  SELECT c.oid, c.relname::text AS name FROM pg_catalog.pg_class c JOIN schema s ON s.oid = c.relnamespace
  WHERE c.relkind = 'r'::"char" AND pg_catalog.starts_with(c.relname::text, 'taskkit_'::text)
), lacks AS MATERIALIZED (
  SELECT 'USAGE'::text AS privilege, 'SCHEMA'::text AS sort, ''::text AS name FROM schema s
  WHERE NOT pg_catalog.has_schema_privilege(s.oid, 'USAGE'::text)
  UNION ALL
  SELECT p.name, ''::text, t.name FROM tables t
  CROSS JOIN (VALUES ('SELECT'::text), ('INSERT'::text), ('UPDATE'::text), ('DELETE'::text)) p(name)
  WHERE NOT pg_catalog.has_table_privilege(t.oid, p.name)
    AND NOT (p.name <> 'SELECT'::text AND t.name IN ('taskkit_goose_version'::text, 'taskkit_queue'::text))
    AND NOT (p.name IN ('INSERT'::text, 'DELETE'::text) AND t.name = 'taskkit_schedule'::text)
  UNION ALL
  SELECT 'EXECUTE'::text, 'FUNCTION'::text,
      p.proname::text || '('::text || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')'::text
  FROM pg_catalog.pg_proc p JOIN schema s ON s.oid = p.pronamespace
  WHERE pg_catalog.starts_with(p.proname::text, 'taskkit_'::text)
      AND p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype::oid
    AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE'::text)
)
SELECT current_user::text, pg_catalog.current_setting('transaction_read_only'::text) = 'on'::text,
    pg_catalog.pg_backend_pid()::bigint,
  EXISTS (SELECT FROM tables t WHERE t.name = 'taskkit_queued_task'::text),
  coalesce(l.privilege, ''), coalesce(l.sort, ''), coalesce(l.name, '')
FROM (VALUES (1)) one(n) LEFT JOIN lacks l ON true;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode)
VALUES ($1, $2, 1, '{}', '[]', 0, true);

ROLLBACK;
