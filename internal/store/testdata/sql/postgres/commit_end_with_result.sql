-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

WITH limits AS MATERIALIZED (
  SELECT set_config('idle_in_transaction_session_timeout', $4, true),
    set_config('statement_timeout', $5, true), set_config('lock_timeout', $6, true)
)
SELECT coalesce((SELECT '' FROM limits, "taskkit".taskkit_queued_task q
WHERE q.id = $1 AND q.fence = $2 AND q.checkpoint_seq = $3 AND q.workflow_status || '' IN ('SCHEDULING',
    'EXECUTING')
FOR KEY SHARE OF q), "taskkit".taskkit_unapplied($1, $2, $3, false));

WITH applied(ord, control) AS (
UPDATE "taskkit".taskkit_queued_task q SET
  workflow_status = 'COMPLETED'::text,
  workflow_status_desc = coalesce(nullif($10::text, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN 'COMPLETED'::text IN ('QUEUED', 'ERROR') THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, clock_timestamp()) END,
  workflow_stopped_date = CASE WHEN 'COMPLETED'::text IN ('COMPLETED', 'ERROR',
      'FAILURE') THEN clock_timestamp() END,
  scheduled_by_process = CASE WHEN 'COMPLETED'::text = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN 'COMPLETED'::text <> 'QUEUED' THEN q.not_before
    WHEN q.control IN ('STOP', 'DELETE')
        AND $9::text <> 'waits for its children to end' THEN clock_timestamp()
    WHEN $8::text <> '' THEN $8::text::timestamptz
    WHEN $7::bigint < 0 THEN q.not_before
    ELSE clock_timestamp() + $7::bigint::float8 * interval '1 millisecond' END,
  stalled = q.stalled AND ('COMPLETED'::text = 'EXECUTING' OR 1::bigint = 0 AND $5::bigint < q.attempts)
    OR 'COMPLETED'::text = 'QUEUED' AND q.control IN ('STOP', 'DELETE'),
  waiting_reason = CASE WHEN 'COMPLETED'::text = 'QUEUED' THEN nullif($9::text, '') END,
  partial = $6::bigint = 1,
  control = '', control_by = NULL, control_reason = NULL,
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
  AND q.workflow_status || '>' || 'COMPLETED'::text IN ('EXECUTING>EXECUTING', 'SCHEDULING>EXECUTING',
      'SCHEDULING>QUEUED', 'SCHEDULING>COMPLETED', 'SCHEDULING>FAILURE', 'SCHEDULING>ERROR',
      'EXECUTING>QUEUED', 'EXECUTING>COMPLETED', 'EXECUTING>FAILURE', 'EXECUTING>ERROR')
  AND NOT (q.control || '' = 'DELETE' AND 'COMPLETED'::text IN ('COMPLETED', 'ERROR', 'FAILURE'))
RETURNING 0::bigint, q.control
), recorded AS (
INSERT INTO "taskkit".taskkit_task_result (id, task_id, result, codec_revision, keep_fetched_ms, expiry_date)
SELECT id::uuid, task_id::uuid, result::json, codec_revision, CASE WHEN fetched >= 0 THEN fetched END,
  CASE WHEN unfetched >= 0 THEN clock_timestamp() + unfetched::float8 * interval '1 millisecond' END
FROM unnest($19::text[], $20::text[], $21::text[], $22::bigint[], $23::bigint[], $24::bigint[]) AS r(id,
    task_id, result, codec_revision, fetched, unfetched)
WHERE EXISTS (SELECT FROM applied)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision,
    finished_date = excluded.finished_date, fetched_date = NULL, keep_fetched_ms = excluded.keep_fetched_ms,
    expiry_date = excluded.expiry_date
)
SELECT coalesce((SELECT control FROM applied), "taskkit".taskkit_unapplied($1::text::uuid, $2::bigint,
    $3::bigint, true));

COMMIT;
