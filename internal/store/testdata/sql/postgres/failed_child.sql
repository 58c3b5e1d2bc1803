-- Written by TestStatements; each statement once, in the order of execution.

SELECT q.id, q.execution_component_name, q.workflow_status, q.partial, coalesce(q.workflow_status_desc, ''),
    NULL,
  q.codec_revision, coalesce(q.items_total, -1), q.position, q.round, q.deferred, q.items_done, q.items_failed,
      q.items_skipped, coalesce(q.first_started_date, q.execution_started_date), q.workflow_stopped_date,
  (SELECT p.options FROM "taskkit".taskkit_task_plan p WHERE p.task_id = q.id),
      (SELECT f.task_id FROM "taskkit".taskkit_task_parent f WHERE f.task_id = q.id) IS NOT NULL
FROM "taskkit".taskkit_queued_task q
WHERE q.parent_id = $1 AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ($1)::text AND q.workflow_status IN ('FAILURE', 'ERROR')
    AND q.workflow_status || '' IN ('FAILURE', 'ERROR') AND q.id > $2 ORDER BY q.id LIMIT $3;
