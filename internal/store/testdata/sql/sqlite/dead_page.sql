-- Written by TestStatements; each statement once, in the order of execution.

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
    `taskkit_queued_task`.`targets_field`, `taskkit_queued_task`.`reference_version`, datetime('now',
    'subsec'),
    CASE WHEN `taskkit_queued_task`.`workflow_status` = 'COMPLETED' THEN coalesce((SELECT CAST(round((julianday(r.expiry_date) - 2440587.5) * 86400000) AS integer) FROM taskkit_task_result r WHERE r.task_id = `taskkit_queued_task`.`id`),
    0) ELSE 0 END,
    CASE WHEN `taskkit_queued_task`.`workflow_status` = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL FROM taskkit_task_result r WHERE r.task_id = `taskkit_queued_task`.`id`),
    false) ELSE false END,
    EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = `taskkit_queued_task`.`id`
    AND c.parent_id IS NOT NULL LIMIT 1 OFFSET 0) FROM `taskkit_queued_task` WHERE `taskkit_queued_task`.`id` IN (SELECT d.id FROM (WITH RECURSIVE keys(key) AS (
  SELECT ''
  UNION ALL
  SELECT (SELECT CASE WHEN d.workflow_status IN ('ERROR',
      'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name END FROM taskkit_queued_task d INDEXED BY taskkit_dead
    WHERE CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name END IS NOT NULL
        AND CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name END > k.key ORDER BY CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name END LIMIT 1)
  FROM keys k WHERE k.key IS NOT NULL
) SELECT key FROM keys WHERE key <> '') k CROSS JOIN json_each((SELECT json_group_array(id) FROM (SELECT `q`.`id` FROM `taskkit_queued_task` AS `q` WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name END IS NOT NULL
    AND CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name END = k.key
    AND CASE WHEN substr(coalesce(`q`.`workflow_status_desc`, ''), 1,
    instr(coalesce(`q`.`workflow_status_desc`, '') || ': ', ': ') - 1) = ?
    AND `q`.`workflow_stopped_date` < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    ? / 1000.0)) THEN true ELSE false END ORDER BY `q`.`id` DESC LIMIT 10))) e CROSS JOIN taskkit_queued_task d ON d.id = e.value ORDER BY d.id DESC LIMIT 10) ORDER BY `taskkit_queued_task`.`id` DESC LIMIT 10;
