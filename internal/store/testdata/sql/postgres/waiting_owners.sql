-- Written by TestStatements; each statement once, in the order of execution.

WITH closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused),
    claim_cursor AS MATERIALIZED (
  SELECT f.queue, f.served, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest((SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::bigint[]), (SELECT $6::text[]),
      (SELECT $7::text[])) f(queue, served, rank, due, id)
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
    FROM pg_catalog.unnest((SELECT $1::text[])) u(queue) CROSS JOIN pg_catalog.unnest((SELECT $2::text[])) k(served)
    WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed)) AND true
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
  WHERE true
)
SELECT DISTINCT t.owner_id, w.rank FROM waits w CROSS JOIN LATERAL (
    SELECT q.owner_id
    FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = w.queue AND q.execution_component_name = w.kind AND q.codec_revision = w.revision
      AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1, 4) END = w.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (w.due, w.id)
    ORDER BY q.not_before, q.id LIMIT 1000
  ) t;
