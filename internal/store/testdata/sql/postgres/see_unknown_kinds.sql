-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date
FROM "taskkit".taskkit_unknown_kind
ORDER BY queue, execution_component_name, codec_revision;

SELECT q.execution_component_name, q.codec_revision, q.queue, q.tasks, clock_timestamp(),
    clock_timestamp() FROM (
  SELECT execution_component_name, codec_revision, queue, count(*) AS tasks FROM (
    SELECT execution_component_name, codec_revision, queue FROM "taskkit".taskkit_queued_task
    WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' AND control = ''
        AND not_before <= clock_timestamp()
      AND queue NOT IN (SELECT name FROM "taskkit".taskkit_queue WHERE paused) LIMIT $1
  ) d GROUP BY execution_component_name, codec_revision, queue
) q WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.ended_date IS NULL AND NOT p.safe_mode
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))
    AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue));

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_unknown_kind (id, execution_component_name, codec_revision, queue, tasks)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (execution_component_name, codec_revision, queue) DO UPDATE SET tasks = excluded.tasks,
    last_seen_date = clock_timestamp(),
  first_seen_date = CASE WHEN taskkit_unknown_kind.last_seen_date < clock_timestamp() - $6::bigint::float8 * interval '1 millisecond' THEN clock_timestamp() ELSE taskkit_unknown_kind.first_seen_date END;

DELETE FROM "taskkit".taskkit_unknown_kind AS q WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue));

DELETE
FROM "taskkit".taskkit_unknown_kind
WHERE last_seen_date < clock_timestamp() - $1::bigint::float8 * interval '1 millisecond';

UPDATE "taskkit".taskkit_unknown_kind
SET reported_date = clock_timestamp()
WHERE reported_date IS NULL OR reported_date < clock_timestamp() - $1::bigint::float8 * interval '1 millisecond'
RETURNING execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date;

COMMIT;
