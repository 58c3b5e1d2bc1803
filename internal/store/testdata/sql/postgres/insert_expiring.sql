-- Written by TestStatements; each statement once, in the order of execution.

begin;

INSERT INTO /*/**/ taskkit_queued_task --*/
/*/**/--*/ "taskkit".taskkit_queued_task
 (id, owner_id, created_by, modified_by, run_as_id, execution_component_name, codec_revision, queue, priority,
     keep_ms)
VALUES ($1, $2, $2, $2, $3, $4, $5, $6, $7, $8);

INSERT INTO /*/**/ taskkit_task_plan --*/
/*/**/--*/ "taskkit".taskkit_task_plan
 (id, task_id, targets, targets_field, targets_total, spec, options, expiry_date)
VALUES ($1, $2, $3, $4, $5, $6, $7, /*/**/ strftime('%Y-%m-%d %H:%M:%f', $8) --*/
/*/**/--*/ $8::text::timestamptz
);

commit;
