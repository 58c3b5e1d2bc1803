-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

SELECT datetime('now', 'subsec');

UPDATE taskkit_queued_task SET
  checkpoint_seq = checkpoint_seq + 1,
  spec_revision = CASE WHEN $4 <> codec_revision THEN coalesce(spec_revision,
      codec_revision) ELSE spec_revision END,
  codec_revision = $4,
  execution_state = coalesce(nullif($5, ''), execution_state),
  items_total = nullif(max($6, -1), -1),
  position = $7,
  round = $17,
  deferred = $18,
  items_done = $8,
  items_failed = $9,
  items_skipped = $10,
  attempts = $11,
  modified_date = $16,
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status = 'EXECUTING' AND control = '';

INSERT INTO taskkit_task_ledger (id, task_id, batch, items, keys) VALUES ($1, $2, $3, $4, $5);

DELETE FROM taskkit_task_item WHERE task_id = $1 AND item IN (SELECT value FROM json_each($2));

COMMIT;
