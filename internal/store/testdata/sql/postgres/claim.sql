-- Written by TestStatements; each statement once, in the order of execution.

WITH closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused), ranks AS MATERIALIZED (
  SELECT r.rank, r.stalled, r.priority, u.queue
  FROM (VALUES (1, true, 1::smallint), (2, true, 2::smallint), (3, true, 3::smallint), (4, true, 4::smallint),
               (5, false, 1::smallint), (6, false, 2::smallint), (7, false, 3::smallint), (8, false,
                   4::smallint)) r(rank, stalled, priority)
  CROSS JOIN unnest((SELECT $2::text[])) u(queue)
  WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
    AND u.queue <> ALL (ARRAY(SELECT name FROM closed))
  ORDER BY r.rank
), picked AS MATERIALIZED (
  SELECT id, rank FROM (SELECT t.id, r.rank
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.id FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.stalled = r.stalled AND q.priority = r.priority
      AND q.not_before <= statement_timestamp()
      AND nullif(q.execution_component_name || ' ' || q.codec_revision = ANY((SELECT $3::text[])::text[]),
          false) IS NOT NULL
    ORDER BY q.not_before, q.id LIMIT (SELECT $4::bigint) FOR UPDATE SKIP LOCKED
  ) t
  LIMIT (SELECT $4::bigint)) p LIMIT 10000
), claimed AS (
  UPDATE "taskkit".taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = clock_timestamp(), execution_started_date = NULL, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, modified_date = clock_timestamp()
  FROM unnest(ARRAY(SELECT id FROM picked), ARRAY(SELECT rank FROM picked)) AS p(id, rank)
  WHERE q.id = p.id
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id,
      q.run_as_id,
    CASE WHEN pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.items_taken, q.items_done, q.items_failed, q.items_skipped,
    q.created_date, coalesce(q.spec_revision, q.codec_revision) AS spec_revision, p.rank, q.not_before
), next AS (
  SELECT coalesce(ceil(extract(epoch FROM min(t.not_before) - statement_timestamp()) * 1000)::bigint,
      -1) AS wait,
    EXISTS (SELECT FROM closed WHERE name = ANY ((SELECT $2::text[])::text[])) AS paused
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.not_before FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.stalled = r.stalled AND q.priority = r.priority
      AND q.not_before > statement_timestamp()
    ORDER BY q.not_before LIMIT 1
  ) t
  WHERE (SELECT count(*) FROM claimed) < $4)
SELECT n.wait, n.paused, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true;
