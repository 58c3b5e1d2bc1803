-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date
FROM "taskkit".taskkit_unknown_kind
ORDER BY queue, execution_component_name, codec_revision;

WITH RECURSIVE queues AS (
  SELECT (SELECT t.queue FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true
    ORDER BY t.queue LIMIT 1) AS queue
  UNION ALL
  SELECT (SELECT t.queue FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND true AND t.queue > w.queue
    ORDER BY t.queue LIMIT 1) FROM queues w WHERE w.queue IS NOT NULL
), kinds AS (
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
    ORDER BY t.execution_component_name LIMIT 1) AS execution_component_name FROM pg_catalog.unnest(ARRAY(SELECT queue FROM queues q WHERE queue IS NOT NULL
        AND EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.ended_date IS NULL
        AND NOT p.safe_mode AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))
        AND q.queue NOT IN (SELECT name FROM "taskkit".taskkit_queue WHERE paused))) AS w(queue)
  UNION ALL
  SELECT w.queue, (SELECT t.execution_component_name FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name > w.execution_component_name
    ORDER BY t.execution_component_name LIMIT 1) FROM kinds w WHERE w.execution_component_name IS NOT NULL
), revisions AS (
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name
    ORDER BY t.codec_revision LIMIT 1) AS codec_revision FROM unnest(ARRAY(SELECT queue FROM kinds q WHERE execution_component_name IS NOT NULL),
        ARRAY(SELECT execution_component_name FROM kinds q WHERE execution_component_name IS NOT NULL)) AS w(queue,
        execution_component_name)
  UNION ALL
  SELECT w.queue, w.execution_component_name, (SELECT t.codec_revision FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision > w.codec_revision
    ORDER BY t.codec_revision LIMIT 1) FROM revisions w WHERE w.codec_revision IS NOT NULL
), lanes AS (
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
        4) END LIMIT 1) AS rank FROM unnest(ARRAY(SELECT queue FROM revisions q WHERE codec_revision IS NOT NULL
        AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))),
        ARRAY(SELECT execution_component_name FROM revisions q WHERE codec_revision IS NOT NULL
        AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))),
        ARRAY(SELECT codec_revision FROM revisions q WHERE codec_revision IS NOT NULL
        AND NOT EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue)))) AS w(queue, execution_component_name,
        codec_revision)
  UNION ALL
  SELECT w.queue, w.execution_component_name, w.codec_revision,
      (SELECT t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END > w.rank
    ORDER BY t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1,
        4) END LIMIT 1) FROM lanes w WHERE w.rank IS NOT NULL
), counted AS (
  SELECT w.queue, w.execution_component_name, w.codec_revision, n.waiting, n.due,
      n.oldest FROM unnest(ARRAY(SELECT queue FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT execution_component_name FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT codec_revision FROM lanes WHERE rank IS NOT NULL),
      ARRAY(SELECT rank FROM lanes WHERE rank IS NOT NULL)) AS w(queue, execution_component_name,
      codec_revision, rank) CROSS JOIN LATERAL (SELECT count(*),
      count(*) FILTER (WHERE t.not_before <= statement_timestamp()),
      min(t.not_before) FILTER (WHERE t.not_before <= statement_timestamp()) FROM (
    SELECT t.not_before FROM "taskkit".taskkit_queued_task t
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = w.queue
        AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision
        AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE LEAST(t.attempts + 1, 4) END = w.rank
    ORDER BY t.not_before, t.id LIMIT (SELECT $1::bigint + 1)
  ) t) n(waiting, due, oldest)
)
SELECT execution_component_name, codec_revision, queue,
    CAST(sum(CASE WHEN due > $1 THEN $1 ELSE due END) AS bigint), clock_timestamp(),
    clock_timestamp() FROM counted WHERE due > 0
GROUP BY 1, 2, 3;

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
