-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

WITH RECURSIVE above(id) AS (
  SELECT q.parent_id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[])
      AND q.parent_id IS NOT NULL
  UNION SELECT q.parent_id FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT 1 FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('stop_after' AS text) IS NOT NULL ORDER BY q.id FOR NO KEY UPDATE OF q;

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

INSERT INTO "taskkit".taskkit_task_item (id, task_id, item, outcome, code, detail, position, attempt)
SELECT id::uuid, task_id::uuid, item, outcome, code, detail, position, attempt
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[]) AS r(id, task_id, item, outcome, code, detail, position, attempt)
ON CONFLICT (task_id, item) DO UPDATE SET outcome = excluded.outcome, code = excluded.code,
    detail = excluded.detail,
    position = CASE WHEN excluded.position > 0 THEN excluded.position ELSE taskkit_task_item.position END,
    attempt = excluded.attempt, created_date = excluded.created_date;

WITH RECURSIVE above(id) AS (
  SELECT q.parent_id FROM "taskkit".taskkit_queued_task q WHERE q.id = ANY($1::text[]::uuid[])
      AND q.parent_id IS NOT NULL
  UNION SELECT q.parent_id FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''),
    p.options FROM above JOIN "taskkit".taskkit_queued_task q ON q.id = above.id JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('stop_after' AS text) IS NOT NULL ORDER BY q.id;

SELECT p.task_id, p.sums
FROM "taskkit".taskkit_task_parent p
WHERE p.task_id = ANY($1::text[]::uuid[]) AND p.sums IS NOT NULL;

SELECT q.parent_id, CASE WHEN f.task_id IS NOT NULL THEN q.id END, q.workflow_status, count(*),
    sum(CASE WHEN q.partial THEN 1 ELSE 0 END),
  sum(CASE WHEN q.items_total IS NULL THEN 1 ELSE 0 END), CAST(sum(coalesce(q.items_total, 0)) AS bigint),
  CAST(sum(q.items_done) AS bigint), CAST(sum(q.items_failed) AS bigint), CAST(sum(q.items_skipped) AS bigint),
      CAST(sum(q.fence) AS bigint)
FROM "taskkit".taskkit_queued_task q LEFT JOIN "taskkit".taskkit_task_parent f ON f.task_id = q.id
WHERE q.parent_id = ANY($1::text[]::uuid[]) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ANY($1::text[]) AND q.parent_id IS NOT NULL GROUP BY 1, 2, 3;

UPDATE "taskkit".taskkit_queued_task SET control = 'PAUSE',
    control_by = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN NULL ELSE control_by END,
    control_reason = CASE WHEN (control = '' OR control = 'PAUSE' AND coalesce(control_reason,
    '') = 'requested of its parent') THEN '' ELSE coalesce(control_reason || '; ', '') END || $2
WHERE id = $1 AND control IN ('', 'PAUSE');

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

SELECT id, workflow_status, control, fence, coalesce(control_reason, ''), fence = 0 AND EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (q.id)::text AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0)
FROM "taskkit".taskkit_queued_task q
WHERE q.parent_id = ANY($1::text[]::uuid[]) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ANY($1::text[]) AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND q.control = ''
LIMIT $2 FOR NO KEY UPDATE OF q SKIP LOCKED;

INSERT INTO "taskkit".taskkit_task_event (id, task_id, action, actor, reason, was, name)
SELECT id::uuid, task_id::uuid, action, nullif(actor, '')::uuid, reason, was, nullif(name, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS r(id,
    task_id, action, actor, reason, was, name);

UPDATE "taskkit".taskkit_queued_task
SET control = 'PAUSE', control_by = $3, control_reason = nullif($4, ''), modified_date = clock_timestamp(),
    modified_by = $2
WHERE id = ANY($1::text[]::uuid[]);

SELECT 1
FROM "taskkit".taskkit_queued_task q
WHERE q.parent_id = ANY($1::text[]::uuid[]) AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ANY($1::text[]) AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND q.control = ''
LIMIT 1;

SELECT id FROM "taskkit".taskkit_queued_task WHERE id = ANY($1::text[]::uuid[]) AND control = 'PAUSE';

COMMIT;
