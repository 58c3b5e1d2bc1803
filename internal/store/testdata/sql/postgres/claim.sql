-- Written by TestStatements; each statement once, in the order of execution.

WITH began AS MATERIALIZED (SELECT pg_stat_get_xact_tuples_returned('"taskkit".taskkit_claim'::regclass) AS read),
    closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused),
    claim_cursor AS MATERIALIZED (
  SELECT f.queue, f.served, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest((SELECT $6::text[]), (SELECT $7::text[]), (SELECT $8::bigint[]), (SELECT $9::text[]),
      (SELECT $10::text[])) f(queue, served, rank, due, id)
), lane AS MATERIALIZED (
  SELECT l.queue, l.served, l.kind, l.revision,
      CASE WHEN EXISTS (SELECT FROM claim_cursor) THEN 1 ELSE (SELECT q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task q
      WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
        AND q.queue = l.queue AND q.execution_component_name = l.kind AND q.codec_revision = l.revision
      ORDER BY q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END LIMIT 1) END AS first
  FROM (
    SELECT u.queue, k.served, split_part(k.served, ' ', 1) AS kind, split_part(k.served, ' ',
        2)::int AS revision
    FROM pg_catalog.unnest((SELECT $2::text[])) u(queue) CROSS JOIN pg_catalog.unnest((SELECT $3::text[])) k(served)
    WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed)) AND (SELECT read FROM began) >= 0
  ) l
), ranked AS MATERIALIZED (
  SELECT l.queue, l.served, l.kind, l.revision, l.first,
      CASE WHEN EXISTS (SELECT FROM claim_cursor) THEN 20 ELSE (SELECT q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
      4) END FROM "taskkit".taskkit_queued_task q
      WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
        AND q.queue = l.queue AND q.execution_component_name = l.kind AND q.codec_revision = l.revision
      ORDER BY q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END DESC LIMIT 1) END AS last
  FROM lane l WHERE l.first IS NOT NULL
), waits AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY r.place) AS number, r.place, r.rank, l.queue, l.served, l.kind,
      l.revision, coalesce(f.due, a.due, '-infinity') AS due, coalesce(f.id, a.id,
      '00000000-0000-0000-0000-000000000000') AS id
  FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 9), (7, 13), (8, 17), (9, 6), (10, 10), (11, 14),
      (12, 18), (13, 7), (14, 11), (15, 15), (16, 19), (17, 8), (18, 12), (19, 16), (20, 20)) r(place,
      rank) JOIN ranked l ON r.rank BETWEEN l.first AND l.last
  LEFT JOIN claim_cursor f ON f.queue = l.queue AND f.served = l.served AND f.rank = r.rank
  LEFT JOIN claim_cursor a ON a.queue = '' AND a.rank = r.rank
  WHERE EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
), several AS MATERIALIZED (
  SELECT count(DISTINCT (queue, served)) > 1 AS lanes FROM waits
), share AS MATERIALIZED (
  SELECT w.number, (SELECT $4::bigint) AS tasks FROM waits w WHERE NOT (SELECT lanes FROM several)
  UNION ALL
  SELECT f.number, count(*) FROM (
    SELECT f.number FROM (SELECT DISTINCT place FROM waits WHERE (SELECT lanes FROM several) ORDER BY place) p CROSS JOIN LATERAL (
      SELECT w.number, t.not_before, t.id FROM waits w CROSS JOIN LATERAL (
        SELECT q.not_before, q.id
    FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = w.queue AND q.execution_component_name = w.kind AND q.codec_revision = w.revision
      AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1, 4) END = w.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (w.due, w.id)
        ORDER BY q.not_before, q.id LIMIT (SELECT $4::bigint)
      ) t WHERE w.place = p.place ORDER BY t.not_before, t.id LIMIT (SELECT $4::bigint)
    ) f LIMIT (SELECT $4::bigint)
  ) f GROUP BY f.number
), picked AS MATERIALIZED (
  SELECT id FROM (SELECT t.id
  FROM (SELECT w.rank, w.queue, w.kind, w.revision, w.due, w.id,
      s.tasks FROM waits w JOIN share s ON s.number = w.number ORDER BY w.number) w CROSS JOIN LATERAL (
    SELECT q.id
    FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = w.queue AND q.execution_component_name = w.kind AND q.codec_revision = w.revision
      AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1, 4) END = w.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (w.due, w.id)
    ORDER BY q.not_before, q.id LIMIT w.tasks FOR UPDATE SKIP LOCKED
  ) t
  LIMIT (SELECT $4::bigint)) p LIMIT 10000
), claimed AS (
  UPDATE "taskkit".taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = clock_timestamp(), first_started_date = coalesce(first_started_date,
        execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, modified_date = clock_timestamp()
  WHERE q.id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id,
      q.run_as_id,
    CASE WHEN q.spec_revision IS NULL
        AND pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.position, q.round, q.deferred, q.items_done, q.items_failed,
        q.items_skipped,
    q.created_date, coalesce(q.spec_revision, q.codec_revision) AS spec_revision,
        q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST((q.attempts - 1) + 1, 4) END AS rank,
        q.not_before
), next AS (
  SELECT CASE WHEN (SELECT lanes FROM several)
      AND (SELECT count(*) FROM claimed) < (SELECT sum(tasks)::bigint FROM share) THEN 0
      ELSE coalesce(ceil(extract(epoch FROM min(t.not_before) - statement_timestamp()) * 1000.0)::bigint,
          -1) END AS wait,
    EXISTS (SELECT FROM closed WHERE name = ANY ((SELECT $2::text[])::text[])) AS paused,
    (extract(epoch FROM statement_timestamp()) * 1000000.0)::bigint AS at,
        pg_stat_get_xact_tuples_returned('"taskkit".taskkit_claim'::regclass) - (SELECT read FROM began) AS read
  FROM waits w CROSS JOIN LATERAL (
    SELECT q.not_before
    FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = w.queue AND q.execution_component_name = w.kind AND q.codec_revision = w.revision
      AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1, 4) END = w.rank
          AND q.not_before > statement_timestamp()
    ORDER BY q.not_before LIMIT 1
  ) t
  WHERE (SELECT count(*) FROM claimed) < $4)
SELECT n.wait, n.paused, n.at, n.read, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true;
