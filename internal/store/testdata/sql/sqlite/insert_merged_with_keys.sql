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

SELECT id FROM /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 WHERE execution_component_name = $1 AND idempotency_key = $2
UNION ALL SELECT task_id FROM /*/**/ taskkit_merged_key --*/
/*/**/--*/ "taskkit".taskkit_merged_key
 WHERE execution_component_name = $1 AND idempotency_key = $2;

SELECT id FROM /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 WHERE execution_component_name = $1 AND unique_key = $2 AND workflow_status IN ('QUEUED', 'SCHEDULING',
     'EXECUTING');

UPDATE /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 SET
  execution_spec = $3,
  codec_revision = $4,
  secrets = $5,
  not_before = CASE WHEN /*/**/ CAST($15 AS bigint) IS NOT NULL OR $6 NOT LIKE '+%' --*/
/*/**/--*/ CAST($15 AS bigint) IS NOT NULL OR $6::text NOT LIKE '+%'
 THEN /*/**/ CASE WHEN $6 IS NULL THEN datetime('now',
     'subsec') WHEN $6 LIKE '+%' THEN strftime('%Y-%m-%d %H:%M:%f', 'now',
     $6) ELSE strftime('%Y-%m-%d %H:%M:%f', $6) END --*/
/*/**/--*/ CASE WHEN $6::text IS NULL THEN clock_timestamp() WHEN $6::text LIKE '+%' THEN clock_timestamp() + $6::text::interval ELSE $6::text::timestamptz END
 ELSE /*/**/ min(not_before, CASE WHEN $6 IS NULL THEN datetime('now',
     'subsec') WHEN $6 LIKE '+%' THEN strftime('%Y-%m-%d %H:%M:%f', 'now',
     $6) ELSE strftime('%Y-%m-%d %H:%M:%f', $6) END) --*/
/*/**/--*/ LEAST(not_before,
    CASE WHEN $6::text IS NULL THEN clock_timestamp() WHEN $6::text LIKE '+%' THEN clock_timestamp() + $6::text::interval ELSE $6::text::timestamptz END)
 END,
  priority = /*/**/ min(priority, $7) --*/
/*/**/--*/ LEAST(priority, $7::smallint)
,
  reason = $8,
  unique_key = coalesce(unique_key, $9),
  items_total = $10,
  follows_id = $11,
  traceparent = $12,
  targets_field = $13,
  execution_state = '{}',
  spec_revision = CASE WHEN spec_revision IS NOT NULL OR CAST($15 AS bigint) IS NOT NULL THEN CAST($4 AS integer) END,
  position = 0,
  created_by = $14,
  modified_by = $14,
  reference_version = CAST($15 AS bigint),
  attempts = 0, stalled = false, waiting_reason = NULL, workflow_status_desc = NULL,
  round = 0, deferred = false, items_done = 0, items_failed = 0, items_skipped = 0,
  scheduling_started_date = NULL, execution_started_date = NULL, first_started_date = NULL,
  created_date = /*/**/ datetime('now', 'subsec') --*/
/*/**/--*/ clock_timestamp()
, modified_date = /*/**/ datetime('now', 'subsec') --*/
/*/**/--*/ clock_timestamp()
WHERE id = $1 AND fence = $2 AND workflow_status = 'QUEUED' AND control NOT IN ('STOP', 'DELETE');

INSERT INTO /*/**/ taskkit_merged_key --*/
/*/**/--*/ "taskkit".taskkit_merged_key
 (id, task_id, execution_component_name, idempotency_key)
VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING;
