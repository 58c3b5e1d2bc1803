-- Written by TestStatements; each statement once, in the order of execution.

SELECT q.id, workflow_status, control, coalesce(control_reason, ''), fence, execution_component_name,
    coalesce(unique_key, ''), owner_id, run_as_id, created_by,
  items_done, items_failed, items_skipped, EXISTS (SELECT 1 FROM "taskkit".taskkit_task_process p
  WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL
      AND NOT (p.last_heartbeat_date < clock_timestamp() - p.dead_after_ms::float8 * interval '1 millisecond')),
      EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL AND NOT p.safe_mode
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue)),
  (SELECT c.id FROM "taskkit".taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.idempotency_key = 'taskkit.continue.' || CAST(q.id AS text)),
  (SELECT p.options FROM "taskkit".taskkit_task_plan p WHERE p.task_id = q.id),
      EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
      AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
      AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0),
  (SELECT c.id FROM "taskkit".taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.idempotency_key = 'taskkit.retry.' || CAST(q.id AS text)),
      (SELECT c.id FROM "taskkit".taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.idempotency_key = 'taskkit.apply.' || CAST(q.id AS text)),
  (SELECT c.id FROM "taskkit".taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.unique_key = q.unique_key
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.id <> q.id), parent_id,
  coalesce((SELECT p.workflow_status FROM "taskkit".taskkit_queued_task p WHERE p.id = q.parent_id), ''),
  coalesce((SELECT p.control FROM "taskkit".taskkit_queued_task p WHERE p.id = q.parent_id), '')
FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[]);
