-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_limit (id, limit_key)
SELECT id::uuid, limit_key
FROM unnest($1::text[], $2::text[]) AS r(id, limit_key)
ON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date;

SELECT coalesce(at_most, 0) FROM "taskkit".taskkit_limit WHERE limit_key = $1;

UPDATE "taskkit".taskkit_limit
SET at_most = $2, modified_by = $3, modified_date = clock_timestamp()
WHERE limit_key = $1;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

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

COMMIT;
