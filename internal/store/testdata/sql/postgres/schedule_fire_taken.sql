-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_schedule SET version = version + 1, triggered = $3, triggered_by = $4,
    trigger_reason = $5, last_wall = $6, last_task_id = $7, secrets = $8, last_error = $9,
    last_date = clock_timestamp(), last_error_date = NULL, next_date = $10::text::timestamptz, next_wall = $11,
    overdue = $12, buffered_wall = $13, due_date = $10::text::timestamptz
WHERE id IN (SELECT id FROM "taskkit".taskkit_schedule s WHERE id = $1::text::uuid
    AND version = $2 FOR NO KEY UPDATE OF s SKIP LOCKED);

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, execution_spec, codec_revision,
     queue, priority, idempotency_key)
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
/*/**/--*/ $5::json
, /*/**/ $6 --*/
/*/**/--*/ $6::bigint
, /*/**/ $7 --*/
/*/**/--*/ $7::text
, /*/**/ $8 --*/
/*/**/--*/ $8::smallint
, /*/**/ $9 --*/
/*/**/--*/ $9::text
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

SELECT id FROM /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 WHERE execution_component_name = $1 AND idempotency_key = $2
UNION ALL SELECT task_id FROM /*/**/ taskkit_merged_key --*/
/*/**/--*/ "taskkit".taskkit_merged_key
 WHERE execution_component_name = $1 AND idempotency_key = $2;

UPDATE "taskkit".taskkit_schedule SET last_task_id = $1 WHERE name = $2;

COMMIT;
