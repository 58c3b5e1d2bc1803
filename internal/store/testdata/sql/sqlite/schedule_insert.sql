-- Written by TestStatements; each statement once, in the order of execution.

SELECT datetime('now', 'subsec');

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations FROM taskkit_schedule WHERE name = $1;

BEGIN IMMEDIATE;

INSERT INTO taskkit_schedule (name, modified_by, execution_component_name, execution_spec, codec_revision,
    secrets, cron, time_zone, queue, priority, owner_id, run_as_id, misfire, overlap, task_options, replaced,
    alternations, paused, paused_by, paused_reason, triggered, triggered_by, trigger_reason, last_error,
    last_error_date, next_date, next_wall, overdue, buffered_wall, due_date, id, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
    $23, $24, strftime('%Y-%m-%d %H:%M:%f', $25), strftime('%Y-%m-%d %H:%M:%f', $26), $27, $28, $29,
    strftime('%Y-%m-%d %H:%M:%f', $26), $30, $31) ON CONFLICT (name) DO NOTHING;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9);

COMMIT;

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations, datetime('now',
      'subsec') FROM taskkit_schedule WHERE name = $1;
