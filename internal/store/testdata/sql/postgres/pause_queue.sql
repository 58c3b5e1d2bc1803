-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

INSERT INTO "taskkit".taskkit_queue (name, paused, paused_by, paused_reason, paused_date)
VALUES ($1, true, $2, nullif($3, ''), clock_timestamp())
ON CONFLICT (name) DO UPDATE SET paused = true, paused_by = excluded.paused_by,
    paused_reason = excluded.paused_reason,
  paused_date = excluded.paused_date WHERE NOT taskkit_queue.paused;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

COMMIT;
