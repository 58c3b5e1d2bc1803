-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone,
    queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered,
      triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date,
      modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations, due_date, datetime('now', 'subsec'),
  EXISTS (SELECT 1 FROM taskkit_queued_task q WHERE q.id = last_task_id
      AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')) FROM taskkit_schedule
WHERE due_date IS NOT NULL
    AND execution_component_name || ':' || CAST(codec_revision AS text) IN (SELECT value FROM json_each($1))
ORDER BY due_date, id LIMIT $2 OFFSET $3;
