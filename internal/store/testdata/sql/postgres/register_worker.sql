-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode,
    max_attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING;

DELETE FROM "taskkit".taskkit_task_process WHERE ended_date < clock_timestamp() - interval '7 days';

DELETE FROM "taskkit".taskkit_unknown_kind AS q WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue));

COMMIT;
