-- Written by TestStatements; each statement once, in the order of execution.

WITH closed AS MATERIALIZED (SELECT name FROM "taskkit".taskkit_queue WHERE paused)
SELECT EXISTS (
  SELECT FROM (VALUES (true), (false)) r(stalled)
  CROSS JOIN (VALUES (1::smallint), (2::smallint), (3::smallint), (4::smallint)) p(priority)
  CROSS JOIN (SELECT queue FROM unnest((SELECT $1::text[])) u(queue) WHERE queue <> ALL (ARRAY(SELECT name FROM closed))) u
  CROSS JOIN LATERAL (
    SELECT FROM "taskkit".taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND q.stalled = r.stalled AND q.priority = p.priority
      AND q.not_before <= statement_timestamp()
      AND nullif(q.execution_component_name || ' ' || q.codec_revision = ANY((SELECT $2::text[])::text[]),
          false) IS NOT NULL
    ORDER BY q.not_before LIMIT 1
  ) t);
