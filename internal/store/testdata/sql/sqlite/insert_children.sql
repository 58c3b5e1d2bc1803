-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, codec_revision, queue, priority,
     parent_id)
SELECT /*/**/ (value ->> 0) --*/
/*/**/--*/ (value ->> 0)::uuid
, $1, $1, $1, $2, $3, $4, $5, $6, $7
FROM /*/**/ json_each($8) --*/
/*/**/--*/ jsonb_array_elements($8::jsonb)
WHERE true;

INSERT INTO /*/**/ taskkit_task_plan --*/
/*/**/--*/ "taskkit".taskkit_task_plan
 (id, task_id, targets, targets_field, targets_total, spec, options)
VALUES ($1, $2, $3, $4, $5, $6, $7), ($8, $9, $10, $11, $12, $13, $14), ($15, $16, $17, $18, $19, $20, $21),
    ($22, $23, $24, $25, $26, $27, $28);

INSERT INTO /*/**/ taskkit_task_plan --*/
/*/**/--*/ "taskkit".taskkit_task_plan
 (id, task_id, targets, targets_field, targets_total, spec, options)
VALUES ($1, $2, $3, $4, $5, $6, $7);
