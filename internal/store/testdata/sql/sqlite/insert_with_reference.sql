-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

/*/**/ UPDATE taskkit_queued_task SET modified_date = modified_date WHERE execution_component_name = $1
    AND reference = $2 AND delayed = $3 AND workflow_status = 'QUEUED' AND control NOT IN ('STOP',
    'DELETE') RETURNING id, owner_id, run_as_id, queue, coalesce(unique_key, ''), control, fence,
    CAST(execution_state AS text) <> '{}' OR position + round + items_done + items_failed + items_skipped > 0,
    EXISTS (SELECT 1 FROM taskkit_task_attempt a WHERE a.task_id = taskkit_queued_task.id
    AND a.checkpoint_seq = taskkit_queued_task.checkpoint_seq) --*/
/*/**/--*/ SELECT id, owner_id, run_as_id, queue, coalesce(unique_key, ''), control, fence,
    CAST(execution_state AS text) <> '{}' OR position + round + items_done + items_failed + items_skipped > 0,
    EXISTS (SELECT 1 FROM "taskkit".taskkit_task_attempt a WHERE a.task_id = taskkit_queued_task.id
    AND a.checkpoint_seq = taskkit_queued_task.checkpoint_seq) FROM "taskkit".taskkit_queued_task WHERE execution_component_name = $1
    AND reference = $2 AND delayed = $3 AND workflow_status = 'QUEUED' AND control NOT IN ('STOP',
    'DELETE') FOR NO KEY UPDATE;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, execution_spec, codec_revision,
     queue, priority, reference)
VALUES ($1, $2, $2, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING
/*/**/  --*/
/*/**/--*/ RETURNING pg_notify('taskkit_taskkit', queue);
