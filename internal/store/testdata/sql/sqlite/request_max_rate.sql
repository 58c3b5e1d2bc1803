-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET modified_date = modified_date WHERE id = $1 RETURNING workflow_status, control,
    coalesce(control_reason, ''), fence, execution_component_name, coalesce(unique_key, ''), owner_id,
    run_as_id, created_by,
  items_done, items_failed, items_skipped;

SELECT EXISTS (SELECT 1 FROM taskkit_task_process p
  WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL
      AND NOT ((julianday('now') - julianday(p.last_heartbeat_date)) * 86400000.0 > p.dead_after_ms)),
      EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND NOT p.safe_mode AND k.key = q.execution_component_name
      AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue)),
  (SELECT c.id FROM taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name
      AND c.idempotency_key = $2),
  (SELECT p.options FROM taskkit_task_plan p WHERE p.task_id = q.id),
      EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL
      AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
      'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
FROM taskkit_queued_task q WHERE q.id = $1;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

INSERT INTO taskkit_task_plan (id, task_id, options) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET options = excluded.options;

UPDATE taskkit_queued_task SET spec_revision = codec_revision WHERE id = $1 AND spec_revision IS NULL;

SELECT `taskkit_queued_task`.`id`, `taskkit_queued_task`.`created_date`, `taskkit_queued_task`.`modified_date`,
    `taskkit_queued_task`.`created_by`, `taskkit_queued_task`.`modified_by`,
    `taskkit_queued_task`.`codec_revision`, `taskkit_queued_task`.`spec_revision`,
    `taskkit_queued_task`.`secrets`, `taskkit_queued_task`.`workflow_status`,
    `taskkit_queued_task`.`workflow_status_desc`, `taskkit_queued_task`.`partial`,
    `taskkit_queued_task`.`waiting_reason`, `taskkit_queued_task`.`scheduling_started_date`,
    `taskkit_queued_task`.`first_started_date`, `taskkit_queued_task`.`execution_started_date`,
    `taskkit_queued_task`.`workflow_stopped_date`, `taskkit_queued_task`.`scheduled_by_process`,
    `taskkit_queued_task`.`fence`, `taskkit_queued_task`.`checkpoint_seq`, `taskkit_queued_task`.`attempts`,
    `taskkit_queued_task`.`not_before`, `taskkit_queued_task`.`priority`, `taskkit_queued_task`.`stalled`,
    `taskkit_queued_task`.`control`, `taskkit_queued_task`.`control_by`,
    `taskkit_queued_task`.`control_reason`, `taskkit_queued_task`.`items_total`,
    `taskkit_queued_task`.`position`, `taskkit_queued_task`.`round`, `taskkit_queued_task`.`deferred`,
    `taskkit_queued_task`.`items_done`, `taskkit_queued_task`.`items_failed`,
    `taskkit_queued_task`.`items_skipped`, `taskkit_queued_task`.`owner_id`, `taskkit_queued_task`.`run_as_id`,
    `taskkit_queued_task`.`execution_component_name`, `taskkit_queued_task`.`queue`,
    `taskkit_queued_task`.`reference`, `taskkit_queued_task`.`reason`, `taskkit_queued_task`.`unique_key`,
    `taskkit_queued_task`.`idempotency_key`, `taskkit_queued_task`.`parent_id`,
    `taskkit_queued_task`.`follows_id`, `taskkit_queued_task`.`traceparent`,
    `taskkit_queued_task`.`targets_field`, `taskkit_queued_task`.`reference_version`,
    `taskkit_queued_task`.`execution_spec`, `taskkit_queued_task`.`execution_state`, datetime('now', 'subsec'),
    CASE WHEN `taskkit_queued_task`.`workflow_status` = 'COMPLETED' THEN coalesce((SELECT CAST(round((julianday(r.expiry_date) - 2440587.5) * 86400000) AS integer)
FROM taskkit_task_result r
WHERE r.task_id = `taskkit_queued_task`.`id`), 0) ELSE 0 END,
    CASE WHEN `taskkit_queued_task`.`workflow_status` = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL
FROM taskkit_task_result r
WHERE r.task_id = `taskkit_queued_task`.`id`), false) ELSE false END, EXISTS (SELECT 1
FROM taskkit_queued_task c
WHERE c.parent_id = `taskkit_queued_task`.`id` AND c.parent_id IS NOT NULL
LIMIT 1 OFFSET 0)
FROM `taskkit_queued_task`
WHERE `taskkit_queued_task`.`id` IN (?)
ORDER BY `taskkit_queued_task`.`id` DESC
LIMIT 1;

COMMIT;
