-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'EXECUTING',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  waiting_reason = NULL,
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
  modified_date = datetime('now', 'subsec'),
  modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('EXECUTING', 'SCHEDULING')
    AND control = '';

WITH RECURSIVE above(origin, id) AS (
  SELECT q.id, q.id FROM taskkit_queued_task q WHERE q.id IN (SELECT value FROM json_each($1))
  UNION SELECT above.origin,
      q.parent_id FROM above JOIN taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT above.origin, q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''),
    q.items_done, q.items_failed, q.items_skipped, datetime('now', 'subsec'), coalesce(q.first_started_date,
    q.execution_started_date), p.options,
  EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL
      AND c.workflow_status <> '')
FROM above JOIN taskkit_queued_task q ON q.id = above.id JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('policies' AS text) IS NOT NULL ORDER BY q.id;

UPDATE taskkit_queued_task SET control = 'PAUSE', control_by = CASE WHEN (control = '' OR control = 'PAUSE'
    AND coalesce(control_reason, '') = 'requested of its parent') THEN NULL ELSE control_by END,
    control_reason = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN '' ELSE coalesce(control_reason || '; ', '') END || $2
WHERE id = $1 AND control IN ('', 'PAUSE');

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

UPDATE taskkit_task_plan SET options = $2 WHERE task_id = $1;

COMMIT;
