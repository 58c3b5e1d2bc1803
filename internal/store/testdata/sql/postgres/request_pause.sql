-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

SELECT workflow_status, control, coalesce(control_reason, ''), fence, execution_component_name,
    coalesce(unique_key, ''), owner_id, run_as_id, created_by,
  items_done, items_failed, items_skipped FROM "taskkit".taskkit_queued_task WHERE id = $1 FOR NO KEY UPDATE;

SELECT EXISTS (SELECT 1 FROM "taskkit".taskkit_task_process p
  WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL
      AND NOT (p.last_heartbeat_date < clock_timestamp() - p.dead_after_ms::float8 * interval '1 millisecond')),
      EXISTS (SELECT FROM "taskkit".taskkit_task_process p
  WHERE p.ended_date IS NULL AND NOT p.safe_mode
      AND p.kinds::jsonb -> q.execution_component_name @> pg_catalog.to_jsonb(q.codec_revision)
    AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue)),
  (SELECT c.id FROM "taskkit".taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.idempotency_key = $2),
  (SELECT p.options FROM "taskkit".taskkit_task_plan p WHERE p.task_id = q.id),
      EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id
      AND c.parent_id IS NOT NULL AND c.parent_id::text = (q.id)::text AND c.workflow_status IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
      'EXECUTING') LIMIT 1 OFFSET 0)
FROM "taskkit".taskkit_queued_task q WHERE q.id = $1;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

UPDATE "taskkit".taskkit_queued_task SET control = 'PAUSE', control_by = $3, control_reason = nullif($4, ''),
  modified_date = clock_timestamp(), modified_by = $2 WHERE id = $1;

SELECT "taskkit"."taskkit_queued_task"."id", "taskkit"."taskkit_queued_task"."created_date",
    "taskkit"."taskkit_queued_task"."modified_date", "taskkit"."taskkit_queued_task"."created_by",
    "taskkit"."taskkit_queued_task"."modified_by", "taskkit"."taskkit_queued_task"."codec_revision",
    "taskkit"."taskkit_queued_task"."spec_revision", "taskkit"."taskkit_queued_task"."secrets",
    "taskkit"."taskkit_queued_task"."workflow_status", "taskkit"."taskkit_queued_task"."workflow_status_desc",
    "taskkit"."taskkit_queued_task"."partial", "taskkit"."taskkit_queued_task"."waiting_reason",
    "taskkit"."taskkit_queued_task"."scheduling_started_date",
    "taskkit"."taskkit_queued_task"."first_started_date",
    "taskkit"."taskkit_queued_task"."execution_started_date",
    "taskkit"."taskkit_queued_task"."workflow_stopped_date",
    "taskkit"."taskkit_queued_task"."scheduled_by_process", "taskkit"."taskkit_queued_task"."fence",
    "taskkit"."taskkit_queued_task"."checkpoint_seq", "taskkit"."taskkit_queued_task"."attempts",
    "taskkit"."taskkit_queued_task"."not_before", "taskkit"."taskkit_queued_task"."priority",
    "taskkit"."taskkit_queued_task"."stalled", "taskkit"."taskkit_queued_task"."control",
    "taskkit"."taskkit_queued_task"."control_by", "taskkit"."taskkit_queued_task"."control_reason",
    "taskkit"."taskkit_queued_task"."items_total", "taskkit"."taskkit_queued_task"."position",
    "taskkit"."taskkit_queued_task"."round", "taskkit"."taskkit_queued_task"."deferred",
    "taskkit"."taskkit_queued_task"."items_done", "taskkit"."taskkit_queued_task"."items_failed",
    "taskkit"."taskkit_queued_task"."items_skipped", "taskkit"."taskkit_queued_task"."owner_id",
    "taskkit"."taskkit_queued_task"."run_as_id", "taskkit"."taskkit_queued_task"."execution_component_name",
    "taskkit"."taskkit_queued_task"."queue", "taskkit"."taskkit_queued_task"."reference",
    "taskkit"."taskkit_queued_task"."reason", "taskkit"."taskkit_queued_task"."unique_key",
    "taskkit"."taskkit_queued_task"."idempotency_key", "taskkit"."taskkit_queued_task"."parent_id",
    "taskkit"."taskkit_queued_task"."follows_id", "taskkit"."taskkit_queued_task"."traceparent",
    "taskkit"."taskkit_queued_task"."targets_field", "taskkit"."taskkit_queued_task"."reference_version",
    "taskkit"."taskkit_queued_task"."execution_spec", "taskkit"."taskkit_queued_task"."execution_state",
    clock_timestamp(),
    CASE WHEN "taskkit"."taskkit_queued_task"."workflow_status" = 'COMPLETED' THEN coalesce((SELECT CAST(extract(epoch
FROM r.expiry_date) * 1000.0 AS bigint)
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = "taskkit"."taskkit_queued_task"."id"), 0) ELSE 0 END,
    CASE WHEN "taskkit"."taskkit_queued_task"."workflow_status" = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = "taskkit"."taskkit_queued_task"."id"), false) ELSE false END, EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = "taskkit"."taskkit_queued_task"."id" AND c.parent_id IS NOT NULL
    AND c.parent_id::text = ("taskkit"."taskkit_queued_task"."id")::text
LIMIT 1 OFFSET 0)
FROM "taskkit"."taskkit_queued_task"
WHERE "taskkit"."taskkit_queued_task"."id" IN ($1)
ORDER BY "taskkit"."taskkit_queued_task"."id" DESC
LIMIT 1;

COMMIT;
