-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queued_task q SET
  workflow_status = 'EXECUTING'::text,
  workflow_status_desc = coalesce(nullif($10::text, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN 'EXECUTING'::text IN ('QUEUED', 'ERROR') THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, clock_timestamp()) END,
  workflow_stopped_date = CASE WHEN 'EXECUTING'::text IN ('COMPLETED', 'ERROR',
      'FAILURE') THEN clock_timestamp() END,
  scheduled_by_process = CASE WHEN 'EXECUTING'::text = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN 'EXECUTING'::text <> 'QUEUED' THEN q.not_before
    WHEN q.control IN ('STOP', 'DELETE')
        AND $9::text <> 'waits for its children to end' THEN clock_timestamp()
    WHEN $8::text <> '' THEN $8::text::timestamptz
    WHEN $7::bigint < 0 THEN q.not_before
    ELSE clock_timestamp() + $7::bigint::float8 * interval '1 millisecond' END,
  stalled = q.stalled AND ('EXECUTING'::text = 'EXECUTING' OR 1::bigint = 0 AND $5::bigint < q.attempts)
    OR 'EXECUTING'::text = 'QUEUED' AND q.control IN ('STOP', 'DELETE'),
  waiting_reason = CASE WHEN 'EXECUTING'::text = 'QUEUED' THEN nullif($9::text, '') END,
  partial = $6::bigint = 1,
  checkpoint_seq = q.checkpoint_seq + 1::bigint,
  spec_revision = CASE WHEN 1::bigint = 1 AND $4::bigint <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN 1::bigint = 1 THEN $4::bigint ELSE q.codec_revision END,
  execution_state = CASE WHEN 1::bigint = 1
      AND $18::text <> '' THEN $18::text::json ELSE q.execution_state END,
  items_total = CASE WHEN 1::bigint = 1 THEN nullif(greatest($11::bigint, -1), -1) ELSE q.items_total END,
  position = CASE WHEN 1::bigint = 1 THEN $12::bigint ELSE q.position END,
  round = CASE WHEN 1::bigint = 1 THEN $13::bigint ELSE q.round END,
  deferred = CASE WHEN 1::bigint = 1 THEN $14::bigint = 1 ELSE q.deferred END,
  items_done = CASE WHEN 1::bigint = 1 THEN $15::bigint ELSE q.items_done END,
  items_failed = CASE WHEN 1::bigint = 1 THEN $16::bigint ELSE q.items_failed END,
  items_skipped = CASE WHEN 1::bigint = 1 THEN $17::bigint ELSE q.items_skipped END,
  attempts = $5::bigint,
  modified_date = clock_timestamp(), modified_by = q.run_as_id
WHERE q.id = $1::text::uuid AND q.fence = $2::bigint AND q.checkpoint_seq = $3::bigint
  AND q.workflow_status || '>' || 'EXECUTING'::text IN ('EXECUTING>EXECUTING', 'SCHEDULING>EXECUTING',
      'SCHEDULING>QUEUED', 'SCHEDULING>COMPLETED', 'SCHEDULING>FAILURE', 'SCHEDULING>ERROR',
      'EXECUTING>QUEUED', 'EXECUTING>COMPLETED', 'EXECUTING>FAILURE', 'EXECUTING>ERROR')
  AND NOT (q.control || '' <> '' AND 'EXECUTING'::text IN ('COMPLETED', 'ERROR', 'FAILURE'))
RETURNING 0::bigint, q.control;

WITH RECURSIVE above(origin, id) AS (
  SELECT q.id, q.id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[])
  UNION SELECT above.origin,
      q.parent_id FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT above.origin, q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''),
    q.items_done, q.items_failed, q.items_skipped, clock_timestamp(), coalesce(q.first_started_date,
    q.execution_started_date), p.options,
  EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL
      AND c.workflow_status <> '' AND c.parent_id::text = (q.id)::text)
FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('policies' AS text) IS NOT NULL ORDER BY q.id;

UPDATE "taskkit".taskkit_queued_task SET control = 'PAUSE',
    control_by = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN NULL ELSE control_by END,
    control_reason = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN '' ELSE coalesce(control_reason || '; ', '') END || $2
WHERE id = $1 AND control IN ('', 'PAUSE');

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

UPDATE "taskkit".taskkit_task_plan SET options = $2 WHERE task_id = $1;

COMMIT;
