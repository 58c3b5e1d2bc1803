-- Written by TestStatements; each statement once, in the order of execution.

WITH began AS MATERIALIZED (SELECT pg_stat_get_xact_tuples_returned('"taskkit".taskkit_claim'::regclass) AS read),
    closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused),
    claim_cursor AS MATERIALIZED (
  SELECT f.queue, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest((SELECT $6::text[]), (SELECT $7::bigint[]), (SELECT $8::text[]), (SELECT $9::text[])) f(queue,
      rank, due, id)
), open AS MATERIALIZED (
  SELECT u.queue,
      CASE WHEN EXISTS (SELECT FROM claim_cursor f WHERE f.queue = u.queue) THEN true ELSE (SELECT true FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END >= 9
    ORDER BY q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
        4) END LIMIT 1) END AS tried
  FROM pg_catalog.unnest((SELECT $2::text[])) u(queue) WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed))
      AND (SELECT read FROM began) >= 0
), ranks AS MATERIALIZED (
  SELECT r.rank, u.queue, coalesce(f.due, '-infinity') AS due, coalesce(f.id,
      '00000000-0000-0000-0000-000000000000') AS id
  FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 9), (7, 13), (8, 17), (9, 6), (10, 10), (11, 14),
      (12, 18), (13, 7), (14, 11), (15, 15), (16, 19), (17, 8), (18, 12), (19, 16), (20, 20)) r(place, rank)
  CROSS JOIN open u
  LEFT JOIN claim_cursor f ON f.queue = u.queue AND f.rank = r.rank
  WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
    AND (u.tried OR r.rank < 9)
  ORDER BY r.place
), picked AS MATERIALIZED (
  SELECT id, rank FROM (SELECT t.id, r.rank
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.id FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END = r.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (r.due, r.id)
      AND nullif(q.execution_component_name || ' ' || q.codec_revision::text = ANY((SELECT $3::text[])::text[]),
          false) IS NOT NULL
    ORDER BY q.not_before, q.id LIMIT (SELECT $4::bigint) FOR UPDATE SKIP LOCKED
  ) t
  LIMIT (SELECT $4::bigint)) p LIMIT 10000
), claimed AS (
  UPDATE "taskkit".taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = clock_timestamp(), first_started_date = coalesce(first_started_date,
        execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, modified_date = clock_timestamp()
  FROM unnest(ARRAY(SELECT id FROM picked), ARRAY(SELECT rank FROM picked)) AS p(id, rank)
  WHERE q.id = p.id
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id,
      q.run_as_id,
    CASE WHEN q.spec_revision IS NULL
        AND pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.position, q.round, q.deferred, q.items_done, q.items_failed,
        q.items_skipped,
    q.created_date, coalesce(q.spec_revision, q.codec_revision) AS spec_revision, p.rank, q.not_before
), next AS (
  SELECT coalesce(ceil(extract(epoch FROM min(t.not_before) - statement_timestamp()) * 1000.0)::bigint,
      -1) AS wait,
    EXISTS (SELECT FROM closed WHERE name = ANY ((SELECT $2::text[])::text[])) AS paused,
    (extract(epoch FROM statement_timestamp()) * 1000000.0)::bigint AS at,
        pg_stat_get_xact_tuples_returned('"taskkit".taskkit_claim'::regclass) - (SELECT read FROM began) AS read
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.not_before FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END = r.rank
      AND q.not_before > statement_timestamp()
    ORDER BY q.not_before LIMIT 1
  ) t
  WHERE (SELECT count(*) FROM claimed) < $4)
SELECT n.wait, n.paused, n.at, n.read, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true;
