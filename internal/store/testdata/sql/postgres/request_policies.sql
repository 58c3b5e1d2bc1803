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
      AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text
      AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
FROM "taskkit".taskkit_queued_task q WHERE q.id = $1;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

WITH RECURSIVE below(id) AS (
  SELECT q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = $1
  UNION SELECT q.id FROM below JOIN "taskkit".taskkit_queued_task q ON q.parent_id = below.id
      AND q.parent_id IS NOT NULL AND q.workflow_status <> '' AND q.parent_id::text = (below.id)::text
)
SELECT i.outcome, i.code, count(*) FROM below JOIN "taskkit".taskkit_task_item i ON i.task_id = below.id
WHERE i.outcome IN ('failed', 'skipped') GROUP BY i.outcome, i.code;

INSERT INTO "taskkit".taskkit_task_plan (id, task_id, options) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET options = excluded.options;

UPDATE "taskkit".taskkit_queued_task
SET spec_revision = codec_revision
WHERE id = $1 AND spec_revision IS NULL;

SELECT t.id, t.created_date, t.modified_date, t.created_by, t.modified_by, t.codec_revision, t.spec_revision,
    t.secrets, t.workflow_status, t.workflow_status_desc, t.partial, t.waiting_reason,
    t.scheduling_started_date, t.first_started_date, t.execution_started_date, t.workflow_stopped_date,
    t.scheduled_by_process, t.fence, t.checkpoint_seq, t.attempts, t.not_before, t.priority, t.stalled,
    t.control, t.control_by, t.control_reason, t.items_total, t.position, t.round, t.deferred, t.items_done,
    t.items_failed, t.items_skipped, t.owner_id, t.run_as_id, t.execution_component_name, t.queue, t.reference,
    t.reason, t.unique_key, t.idempotency_key, t.parent_id, t.follows_id, t.traceparent, t.targets_field,
    t.reference_version, t.execution_spec, t.execution_state, clock_timestamp(),
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT CAST(extract(epoch
FROM r.expiry_date) * 1000.0 AS bigint)
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = t.id), 0) ELSE 0 END,
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = t.id), false) ELSE false END, EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = t.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (t.id)::text
LIMIT 1 OFFSET 0), t.wanted, t.last
FROM (SELECT *
FROM (SELECT f.*, true AS wanted, false AS last
FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date", "q"."created_by", "q"."modified_by",
    "q"."codec_revision", "q"."spec_revision", "q"."secrets", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason", "q"."scheduling_started_date",
    "q"."first_started_date", "q"."execution_started_date", "q"."workflow_stopped_date",
    "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts", "q"."not_before",
    "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason", "q"."items_total",
    "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed", "q"."items_skipped",
    "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue", "q"."reference",
    "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field", "q"."reference_version", "q"."execution_spec",
    "q"."execution_state"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE "q"."id" IN ($1) OFFSET 0) f) u) t
ORDER BY t.id DESC
LIMIT 1;

COMMIT;
