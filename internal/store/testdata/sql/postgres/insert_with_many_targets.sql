-- Written by TestStatements; each statement once, in the order of execution.

begin;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, codec_revision, queue, priority)
VALUES ($1, $2, $2, $2, $3, $4, $5, $6, $7);

INSERT INTO /*/**/ taskkit_task_target --*/
/*/**/--*/ "taskkit".taskkit_task_target
 (id, task_id, page, keys)
VALUES ($1, $2, $3, $4), ($5, $6, $7, $8), ($9, $10, $11, $12), ($13, $14, $15, $16), ($17, $18, $19, $20),
    ($21, $22, $23, $24), ($25, $26, $27, $28), ($29, $30, $31, $32), ($33, $34, $35, $36), ($37, $38, $39,
    $40), ($41, $42, $43, $44), ($45, $46, $47, $48), ($49, $50, $51, $52), ($53, $54, $55, $56), ($57, $58,
    $59, $60), ($61, $62, $63, $64);

UPDATE /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 SET items_total = $2 WHERE id = $1;

INSERT INTO /*/**/ taskkit_task_target --*/
/*/**/--*/ "taskkit".taskkit_task_target
 (id, task_id, page, keys)
VALUES ($1, $2, $3, $4), ($5, $6, $7, $8);

INSERT INTO /*/**/ taskkit_task_target --*/
/*/**/--*/ "taskkit".taskkit_task_target
 (id, task_id, page, keys)
VALUES ($1, $2, $3, $4);

INSERT INTO /*/**/ taskkit_task_plan --*/
/*/**/--*/ "taskkit".taskkit_task_plan
 (id, task_id, targets, targets_field, targets_total, spec, options)
VALUES ($1, $2, $3, $4, $5, $6, $7);

commit;
