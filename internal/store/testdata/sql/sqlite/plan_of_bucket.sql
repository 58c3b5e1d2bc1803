-- Written by TestStatements; each statement once, in the order of execution.

SELECT coalesce(q.execution_spec, p.spec), p.targets, p.targets_field, p.targets_total, p.options, p.report,
    coalesce(q.first_started_date, q.execution_started_date), datetime('now', 'subsec'),
  q.execution_component_name, coalesce(q.reference, ''), q.reference_version IS NOT NULL,
      coalesce(q.reference_version, 0), coalesce(q.traceparent, '')
FROM taskkit_queued_task q LEFT JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = $1;
