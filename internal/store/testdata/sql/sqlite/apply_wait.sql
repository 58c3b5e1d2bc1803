-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = 'QUEUED',
  partial = $15,
  execution_started_date = coalesce(execution_started_date, datetime('now', 'subsec')),
  scheduled_by_process = NULL,
  waiting_reason = nullif($14, ''),
  stalled = 0 OR control IN ('STOP', 'DELETE'),
  not_before = CASE WHEN control IN ('STOP', 'DELETE')
      AND $14 <> 'waits for its children to end' THEN datetime('now', 'subsec')
    WHEN typeof($12) = 'text' THEN $12
    WHEN $12 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', datetime('now', 'subsec'), printf('+%.3f seconds', $12 / 1000.0)) END,
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
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND control = '';

INSERT INTO taskkit_task_parent
  (id, task_id, open_at_most, on_failure, failed_seen, fence, checkpoint_seq, waits, ending, memo)
VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8, $9)
ON CONFLICT (task_id) DO UPDATE SET open_at_most = excluded.open_at_most, on_failure = excluded.on_failure,
  failed_seen = excluded.failed_seen, fence = excluded.fence, checkpoint_seq = excluded.checkpoint_seq,
      waits = true,
  ending = excluded.ending, memo = coalesce(excluded.memo, taskkit_task_parent.memo);

UPDATE taskkit_queued_task SET control = 'PAUSE', control_by = NULL, control_reason = $5
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status = $4
    AND (control = '' OR control = 'PAUSE' AND coalesce(control_reason, '') = 'requested of its parent');

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

SELECT p.task_id, p.sums
FROM taskkit_task_parent p
WHERE p.task_id IN (SELECT value
FROM json_each($1)) AND p.sums IS NOT NULL;

SELECT q.id
FROM taskkit_queued_task q
WHERE q.parent_id = $1 AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND q.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING');

SELECT q.parent_id, CASE WHEN f.task_id IS NOT NULL THEN q.id END, q.workflow_status, count(*),
    sum(CASE WHEN q.partial THEN 1 ELSE 0 END),
  sum(CASE WHEN q.items_total IS NULL THEN 1 ELSE 0 END), CAST(sum(coalesce(q.items_total, 0)) AS bigint),
  CAST(sum(q.items_done) AS bigint), CAST(sum(q.items_failed) AS bigint), CAST(sum(q.items_skipped) AS bigint),
      CAST(sum(q.fence) AS bigint)
FROM taskkit_queued_task q LEFT JOIN taskkit_task_parent f ON f.task_id = q.id
WHERE q.parent_id IN (SELECT value FROM json_each($1)) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.workflow_status IN ('COMPLETED', 'ERROR', 'FAILURE') AND q.workflow_status || '' IN ('COMPLETED',
    'ERROR', 'FAILURE') AND NOT q.id IN (SELECT value FROM json_each($2))
    AND q.parent_id IS NOT NULL GROUP BY 1, 2, 3;

UPDATE taskkit_task_parent SET sums = $2 WHERE task_id = $1;

COMMIT;
