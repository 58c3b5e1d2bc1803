-- Written by TestStatements; each statement once, in the order of execution.

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, execution_spec, codec_revision,
     queue, priority)
SELECT /*/**/ (value ->> 0) --*/
/*/**/--*/ (value ->> 0)::uuid
, $1, $1, $1, $2, $3, $4, $5, $6, $7
FROM /*/**/ json_each($8) --*/
/*/**/--*/ jsonb_array_elements($8::jsonb)
WHERE true;
