-- Written by TestStatements; each statement once, in the order of execution.

WITH closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused),
    claim_cursor AS MATERIALIZED (
  SELECT f.queue, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest((SELECT $3::text[]), (SELECT $4::bigint[]), (SELECT $5::text[]), (SELECT $6::text[])) f(queue,
      rank, due, id)
), open AS MATERIALIZED (
  SELECT u.queue,
      CASE WHEN EXISTS (SELECT FROM claim_cursor f WHERE f.queue = u.queue) THEN true ELSE (SELECT true FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END >= 9
    ORDER BY q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
        4) END LIMIT 1) END AS tried
  FROM pg_catalog.unnest((SELECT $1::text[])) u(queue) WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed))
      AND true
)
SELECT EXISTS (
  SELECT FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 9), (7, 13), (8, 17), (9, 6), (10, 10), (11,
      14), (12, 18), (13, 7), (14, 11), (15, 15), (16, 19), (17, 8), (18, 12), (19, 16), (20, 20)) r(place,
      rank)
  CROSS JOIN open u
  LEFT JOIN claim_cursor f ON f.queue = u.queue AND f.rank = r.rank
  CROSS JOIN LATERAL (
    SELECT FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST(q.attempts + 1,
          4) END = r.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (coalesce(f.due, '-infinity'),
          coalesce(f.id, '00000000-0000-0000-0000-000000000000'))
      AND nullif(q.execution_component_name || ' ' || q.codec_revision::text = ANY((SELECT $2::text[])::text[]),
          false) IS NOT NULL
    ORDER BY q.not_before LIMIT 1
  ) t WHERE (u.tried OR r.rank < 9));
