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

INSERT INTO taskkit_task_item (id, task_id, item, outcome, code, detail, position, attempt) VALUES ($1, $2, $3,
    $4, $5, $6, $7, $8)
ON CONFLICT (task_id, item) DO UPDATE SET outcome = excluded.outcome, code = excluded.code,
    detail = excluded.detail,
    position = CASE WHEN excluded.position > 0 THEN excluded.position ELSE taskkit_task_item.position END,
    attempt = excluded.attempt, created_date = excluded.created_date;

WITH RECURSIVE above(id) AS (
  SELECT q.parent_id FROM taskkit_queued_task q WHERE q.id IN (SELECT value FROM json_each($1))
      AND q.parent_id IS NOT NULL
  UNION SELECT q.parent_id FROM above JOIN taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''),
    p.options FROM above JOIN taskkit_queued_task q ON q.id = above.id JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('stop_after' AS text) IS NOT NULL ORDER BY q.id;

SELECT p.task_id, p.sums
FROM taskkit_task_parent p
WHERE p.task_id IN (SELECT value
FROM json_each($1)) AND p.sums IS NOT NULL;

SELECT q.parent_id, CASE WHEN f.task_id IS NOT NULL THEN q.id END, q.workflow_status, count(*),
    sum(CASE WHEN q.partial THEN 1 ELSE 0 END),
  sum(CASE WHEN q.items_total IS NULL THEN 1 ELSE 0 END), CAST(sum(coalesce(q.items_total, 0)) AS bigint),
  CAST(sum(q.items_done) AS bigint), CAST(sum(q.items_failed) AS bigint), CAST(sum(q.items_skipped) AS bigint),
      CAST(sum(q.fence) AS bigint)
FROM taskkit_queued_task q LEFT JOIN taskkit_task_parent f ON f.task_id = q.id
WHERE q.parent_id IN (SELECT value FROM json_each($1)) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id IS NOT NULL GROUP BY 1, 2, 3;

UPDATE taskkit_queued_task SET control = 'PAUSE', control_by = CASE WHEN (control = '' OR control = 'PAUSE'
    AND coalesce(control_reason, '') = 'requested of its parent') THEN NULL ELSE control_by END,
    control_reason = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN '' ELSE coalesce(control_reason || '; ', '') END || $2
WHERE id = $1 AND control IN ('', 'PAUSE');

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

SELECT id, workflow_status, control, fence, coalesce(control_reason, ''), fence = 0 AND EXISTS (SELECT 1
FROM taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0)
FROM taskkit_queued_task q
WHERE q.parent_id IN (SELECT value
FROM json_each($1)) AND q.parent_id IS NOT NULL AND q.workflow_status <> '' AND q.workflow_status IN ('QUEUED',
    'SCHEDULING', 'EXECUTING') AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.control = ''
LIMIT $2;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, name)
VALUES ($1, $2, $3, $4, $5, $6, $7);

UPDATE taskkit_queued_task
SET control = 'PAUSE', control_by = $3, control_reason = nullif($4, ''), modified_date = datetime('now',
    'subsec'), modified_by = $2
WHERE id IN (SELECT value
FROM json_each($1));

SELECT id FROM taskkit_queued_task WHERE id IN (SELECT value FROM json_each($1)) AND control = 'PAUSE';

COMMIT;
