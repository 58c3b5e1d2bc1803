-- Written by TestStatements; each statement once, in the order of execution.

WITH closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused), floor AS MATERIALIZED (
  SELECT f.queue, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest((SELECT $3::text[]), (SELECT $4::bigint[]), (SELECT $5::text[]), (SELECT $6::text[])) f(queue,
      rank, due, id)
), open AS MATERIALIZED (
  SELECT u.queue,
      CASE WHEN EXISTS (SELECT FROM floor f WHERE f.queue = u.queue) THEN true ELSE (SELECT true FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue
          AND CASE WHEN q.stalled THEN q.priority WHEN q.attempts = 0 THEN q.priority + 4 ELSE q.priority * 3 + 5 + CASE WHEN q.attempts < 3 THEN q.attempts ELSE 3 END END >= 9
    ORDER BY CASE WHEN q.stalled THEN q.priority WHEN q.attempts = 0 THEN q.priority + 4 ELSE q.priority * 3 + 5 + CASE WHEN q.attempts < 3 THEN q.attempts ELSE 3 END END LIMIT 1) END AS tried
  FROM unnest((SELECT $1::text[])) u(queue) WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed)) AND true
)
SELECT DISTINCT t.owner_id, r.rank FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 9), (7, 10), (8,
    11), (9, 6), (10, 12), (11, 13), (12, 14), (13, 7), (14, 15), (15, 16), (16, 17), (17, 8), (18, 18), (19,
    19), (20, 20)) r(place, rank)
  CROSS JOIN open u
  LEFT JOIN floor f ON f.queue = u.queue AND f.rank = r.rank
  CROSS JOIN LATERAL (
    SELECT q.owner_id FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue
          AND CASE WHEN q.stalled THEN q.priority WHEN q.attempts = 0 THEN q.priority + 4 ELSE q.priority * 3 + 5 + CASE WHEN q.attempts < 3 THEN q.attempts ELSE 3 END END = r.rank
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (coalesce(f.due, '-infinity'),
          coalesce(f.id, '00000000-0000-0000-0000-000000000000'))
      AND nullif(q.execution_component_name || ' ' || q.codec_revision = ANY((SELECT $2::text[])::text[]),
          false) IS NOT NULL
    ORDER BY q.not_before LIMIT 1000
  ) t WHERE (u.tried OR r.rank < 9);
