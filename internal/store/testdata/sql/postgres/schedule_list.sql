-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations,
      clock_timestamp() FROM "taskkit".taskkit_schedule WHERE name > $1 ORDER BY name LIMIT $2;
