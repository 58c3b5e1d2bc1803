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

SELECT q.id, r.history, p.options FROM taskkit_queued_task q
  LEFT JOIN taskkit_task_rate r ON r.task_id = q.id LEFT JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE q.id IN (SELECT value FROM json_each($1));

INSERT INTO taskkit_task_rate (id, task_id, execution_component_name, history) VALUES ($1, $2, $3, $4)
ON CONFLICT (task_id) DO UPDATE SET history = excluded.history, measured_date = excluded.measured_date;

COMMIT;
