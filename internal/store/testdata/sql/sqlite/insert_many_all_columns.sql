-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, execution_spec, codec_revision,
     secrets, not_before, queue, priority, reason, unique_key, idempotency_key, items_total, follows_id,
     traceparent, spec_revision)
SELECT /*/**/ (value ->> 0) --*/
/*/**/--*/ (value ->> 0)::uuid
, /*/**/ (value ->> 1) --*/
/*/**/--*/ (value ->> 1)::uuid
, /*/**/ (value ->> 1) --*/
/*/**/--*/ (value ->> 1)::uuid
, /*/**/ (value ->> 1) --*/
/*/**/--*/ (value ->> 1)::uuid
, /*/**/ (value ->> 2) --*/
/*/**/--*/ (value ->> 2)::uuid
, /*/**/ (value ->> 3) --*/
/*/**/--*/ (value ->> 3)::text
, /*/**/ (value ->> 4) --*/
/*/**/--*/ (value ->> 4)::json
, /*/**/ (value ->> 5) --*/
/*/**/--*/ (value ->> 5)::bigint
, /*/**/ (value ->> 6) --*/
/*/**/--*/ (value ->> 6)::text
, /*/**/ CASE WHEN (value ->> 7) IS NULL THEN datetime('now',
    'subsec') WHEN (value ->> 7) LIKE '+%' THEN strftime('%Y-%m-%d %H:%M:%f', 'now',
    (value ->> 7)) ELSE strftime('%Y-%m-%d %H:%M:%f', (value ->> 7)) END --*/
/*/**/--*/ CASE WHEN (value ->> 7)::text IS NULL THEN clock_timestamp() WHEN (value ->> 7)::text LIKE '+%' THEN clock_timestamp() + (value ->> 7)::text::interval ELSE (value ->> 7)::text::timestamptz END
, /*/**/ (value ->> 8) --*/
/*/**/--*/ (value ->> 8)::text
, /*/**/ (value ->> 9) --*/
/*/**/--*/ (value ->> 9)::smallint
, /*/**/ (value ->> 10) --*/
/*/**/--*/ (value ->> 10)::text
, /*/**/ (value ->> 11) --*/
/*/**/--*/ (value ->> 11)::text
, /*/**/ (value ->> 12) --*/
/*/**/--*/ (value ->> 12)::text
, /*/**/ (value ->> 13) --*/
/*/**/--*/ (value ->> 13)::bigint
, /*/**/ (value ->> 14) --*/
/*/**/--*/ (value ->> 14)::uuid
, /*/**/ (value ->> 15) --*/
/*/**/--*/ (value ->> 15)::text
, /*/**/ (value ->> 16) --*/
/*/**/--*/ (value ->> 16)::bigint
FROM /*/**/ json_each($1) --*/
/*/**/--*/ jsonb_array_elements($1::jsonb)
WHERE NOT EXISTS (SELECT 1 FROM /*/**/ taskkit_merged_key --*/
/*/**/--*/ "taskkit".taskkit_merged_key
 m WHERE m.execution_component_name = /*/**/ (value ->> 3) --*/
/*/**/--*/ (value ->> 3)::text
 AND m.idempotency_key = /*/**/ (value ->> 12) --*/
/*/**/--*/ (value ->> 12)::text
)
ON CONFLICT DO NOTHING;
