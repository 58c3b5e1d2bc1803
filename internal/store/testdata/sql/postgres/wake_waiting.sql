-- Written by TestStatements; each statement once, in the order of execution.

SELECT k.limit_key
FROM "taskkit".taskkit_limit k
WHERE k.limit_key = ANY($1::text[]) AND (SELECT 1
FROM (SELECT l.task_id, l.fence, l.at_most
FROM "taskkit".taskkit_task_limit l
WHERE l.limit_key = k.limit_key AND l.waiting
ORDER BY l.task_id
LIMIT 1) w) = 1;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_limit (id, limit_key)
SELECT id::uuid, limit_key
FROM unnest($1::text[], $2::text[]) AS r(id, limit_key)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence
    AND q.workflow_status || '' IN ('SCHEDULING', 'EXECUTING'), false)
FROM "taskkit".taskkit_limit k LEFT JOIN "taskkit".taskkit_task_limit l ON l.limit_key = k.limit_key
    AND NOT l.waiting
  LEFT JOIN "taskkit".taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key = ANY($1::text[]);

SELECT l.id, l.task_id, l.at_most, q.id IS NOT NULL AND q.fence = l.fence
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING'),
  coalesce(q.workflow_status || '' = 'QUEUED' AND q.not_before > clock_timestamp(), false),
  coalesce(q.control = 'PAUSE' OR EXISTS (SELECT 1 FROM "taskkit".taskkit_queue u WHERE u.name = q.queue
      AND u.paused), false)
FROM "taskkit".taskkit_task_limit l LEFT JOIN "taskkit".taskkit_queued_task q ON q.id = l.task_id
WHERE l.limit_key = $1 AND l.waiting AND l.task_id > $2 ORDER BY l.task_id LIMIT $3;

DELETE FROM "taskkit".taskkit_task_limit WHERE id = ANY($1::text[]::uuid[]);

UPDATE "taskkit".taskkit_queued_task SET not_before = CASE WHEN created_date < clock_timestamp() THEN created_date ELSE clock_timestamp() END,
    waiting_reason = 'a permit of its limit may be free', modified_date = clock_timestamp()
WHERE id IN (SELECT q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[])
    AND q.workflow_status || '' = 'QUEUED' AND q.not_before > clock_timestamp()
  ORDER BY q.id FOR NO KEY UPDATE OF q SKIP LOCKED) RETURNING id;

SELECT pg_notify($1, $2);

COMMIT;
