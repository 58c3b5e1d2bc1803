-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

DELETE FROM "taskkit".taskkit_schedule WHERE name = $1 RETURNING id, version, name, execution_component_name,
    execution_spec, codec_revision, secrets, cron, time_zone, queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

COMMIT;
