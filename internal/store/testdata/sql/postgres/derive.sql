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

SELECT coalesce(q.execution_spec, p.spec), p.targets, p.targets_field, p.targets_total, p.options, p.report,
    coalesce(q.first_started_date, q.execution_started_date), clock_timestamp(),
  q.execution_component_name, coalesce(q.reference, ''), q.reference_version IS NOT NULL,
      coalesce(q.reference_version, 0), coalesce(q.traceparent, '')
FROM "taskkit".taskkit_queued_task q LEFT JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = $1;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, codec_revision, secrets, queue,
     priority, idempotency_key, follows_id, execution_state, spec_revision, position)
SELECT /*/**/ $1 --*/
/*/**/--*/ $1::uuid
, /*/**/ $2 --*/
/*/**/--*/ $2::uuid
, /*/**/ $2 --*/
/*/**/--*/ $2::uuid
, /*/**/ $2 --*/
/*/**/--*/ $2::uuid
, /*/**/ $3 --*/
/*/**/--*/ $3::uuid
, /*/**/ $4 --*/
/*/**/--*/ $4::text
, /*/**/ $5 --*/
/*/**/--*/ $5::bigint
, /*/**/ $6 --*/
/*/**/--*/ $6::text
, /*/**/ $7 --*/
/*/**/--*/ $7::text
, /*/**/ $8 --*/
/*/**/--*/ $8::smallint
, /*/**/ $9 --*/
/*/**/--*/ $9::text
, /*/**/ $10 --*/
/*/**/--*/ $10::uuid
, /*/**/ $11 --*/
/*/**/--*/ $11::json
, /*/**/ $12 --*/
/*/**/--*/ $12::bigint
, /*/**/ $13 --*/
/*/**/--*/ $13::bigint
WHERE NOT EXISTS (SELECT 1 FROM /*/**/ taskkit_merged_key --*/
/*/**/--*/ "taskkit".taskkit_merged_key
 m WHERE m.execution_component_name = /*/**/ $4 --*/
/*/**/--*/ $4::text
 AND m.idempotency_key = /*/**/ $9 --*/
/*/**/--*/ $9::text
)
ON CONFLICT DO NOTHING
/*/**/  --*/
/*/**/--*/ RETURNING pg_notify('taskkit_taskkit', queue);

INSERT INTO /*/**/ taskkit_task_plan --*/
/*/**/--*/ "taskkit".taskkit_task_plan
 (id, task_id, targets, targets_field, targets_total, spec, options)
VALUES ($1, $2, $3, $4, $5, $6, $7);

COMMIT;
