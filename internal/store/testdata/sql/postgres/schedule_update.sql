-- Written by TestStatements; each statement once, in the order of execution.

SELECT clock_timestamp();

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced,
      alternations FROM "taskkit".taskkit_schedule WHERE name = $1;

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_schedule SET modified_by = $2, execution_component_name = $3, execution_spec = $4,
    codec_revision = $5, secrets = $6, cron = $7, time_zone = $8, queue = $9, priority = $10, owner_id = $11,
    run_as_id = $12, misfire = $13, overlap = $14, task_options = $15, replaced = $16, alternations = $17,
    paused = $18, paused_by = $19, paused_reason = $20, triggered = $21, triggered_by = $22,
    trigger_reason = $23, last_error = $24, last_error_date = $25::text::timestamptz,
    next_date = $26::text::timestamptz, next_wall = $27, overdue = $28, buffered_wall = $29,
    due_date = $26::text::timestamptz, version = version + 1, modified_date = clock_timestamp()
WHERE name = $1 AND version = $30;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

COMMIT;

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations,
      clock_timestamp() FROM "taskkit".taskkit_schedule WHERE name = $1;
