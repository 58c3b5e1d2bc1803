-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queued_task q SET
  workflow_status = w.status,
  workflow_status_desc = coalesce(nullif(w.descr, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN w.status IN ('QUEUED', 'ERROR') THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, clock_timestamp()) END,
  workflow_stopped_date = CASE WHEN w.status IN ('COMPLETED', 'ERROR', 'FAILURE') THEN clock_timestamp() END,
  scheduled_by_process = CASE WHEN w.status = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN w.status <> 'QUEUED' THEN q.not_before
    WHEN q.control IN ('STOP', 'DELETE')
        AND w.reason <> 'waits for its children to end' THEN clock_timestamp()
    WHEN w.due <> '' THEN w.due::timestamptz
    WHEN w.delay < 0 THEN q.not_before
    ELSE clock_timestamp() + w.delay::float8 * interval '1 millisecond' END,
  stalled = q.stalled AND (w.status = 'EXECUTING' OR w.checkpoint = 0 AND w.attempts < q.attempts)
    OR w.status = 'QUEUED' AND q.control IN ('STOP', 'DELETE'),
  waiting_reason = CASE WHEN w.status = 'QUEUED' THEN nullif(w.reason, '') END,
  partial = w.partial = 1,
  checkpoint_seq = q.checkpoint_seq + w.checkpoint,
  spec_revision = CASE WHEN w.checkpoint = 1 AND w.revision <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN w.checkpoint = 1 THEN w.revision ELSE q.codec_revision END,
  execution_state = CASE WHEN w.checkpoint = 1
      AND w.state <> '' THEN w.state::json ELSE q.execution_state END,
  items_total = CASE WHEN w.checkpoint = 1 THEN nullif(greatest($14::bigint, -1), -1) ELSE q.items_total END,
  position = CASE WHEN w.checkpoint = 1 THEN $15::bigint ELSE q.position END,
  round = CASE WHEN w.checkpoint = 1 THEN $16::bigint ELSE q.round END,
  deferred = CASE WHEN w.checkpoint = 1 THEN $17::bigint = 1 ELSE q.deferred END,
  items_done = CASE WHEN w.checkpoint = 1 THEN $18::bigint ELSE q.items_done END,
  items_failed = CASE WHEN w.checkpoint = 1 THEN $19::bigint ELSE q.items_failed END,
  items_skipped = CASE WHEN w.checkpoint = 1 THEN $20::bigint ELSE q.items_skipped END,
  attempts = w.attempts,
  modified_date = clock_timestamp(), modified_by = q.run_as_id
FROM unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]),
    (SELECT $5::bigint[]), (SELECT $6::bigint[]), (SELECT $7::bigint[]), (SELECT $8::text[]),
    (SELECT $9::bigint[]), (SELECT $10::bigint[]), (SELECT $11::text[]), (SELECT $12::text[]),
    (SELECT $13::text[]), (SELECT $21::text[])) AS w(ord, id, fence, seq, checkpoint, revision, attempts,
    status, partial, delay, due, reason, descr, state)
WHERE q.id = w.id::uuid AND q.fence = w.fence AND q.checkpoint_seq = w.seq
  AND q.workflow_status || '>' || w.status IN ('EXECUTING>EXECUTING', 'SCHEDULING>EXECUTING',
      'SCHEDULING>QUEUED', 'SCHEDULING>COMPLETED', 'SCHEDULING>FAILURE', 'SCHEDULING>ERROR',
      'EXECUTING>QUEUED', 'EXECUTING>COMPLETED', 'EXECUTING>FAILURE', 'EXECUTING>ERROR')
  AND NOT (q.control || '' <> '' AND w.status IN ('COMPLETED', 'ERROR', 'FAILURE'))
RETURNING w.ord, q.control;

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
RETURNING 0::bigint, q.control;

INSERT INTO "taskkit".taskkit_task_item (id, task_id, item, outcome, code, detail, position, attempt)
SELECT id::uuid, task_id::uuid, item, outcome, code, detail, position, attempt
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[]) AS r(id, task_id, item, outcome, code, detail, position, attempt)
ON CONFLICT (task_id, item) DO UPDATE SET outcome = excluded.outcome, code = excluded.code,
    detail = excluded.detail,
    position = CASE WHEN excluded.position > 0 THEN excluded.position ELSE taskkit_task_item.position END,
    attempt = excluded.attempt, created_date = excluded.created_date;

INSERT INTO "taskkit".taskkit_task_result (id, task_id, result, codec_revision, keep_fetched_ms, expiry_date)
SELECT id::uuid, task_id::uuid, result::json, codec_revision, CASE WHEN fetched >= 0 THEN fetched END,
  CASE WHEN unfetched >= 0 THEN clock_timestamp() + unfetched::float8 * interval '1 millisecond' END
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS r(id, task_id,
    result, codec_revision, fetched, unfetched)
ON CONFLICT (task_id) DO UPDATE SET result = excluded.result, codec_revision = excluded.codec_revision,
    finished_date = excluded.finished_date, fetched_date = NULL, keep_fetched_ms = excluded.keep_fetched_ms,
    expiry_date = excluded.expiry_date;

UPDATE "taskkit".taskkit_queued_task q SET secrets = pg_catalog.concat_ws(chr(10), q.secrets, a.secrets)
FROM unnest($1::text[], $2::text[]) AS a(task, secrets) WHERE q.id = a.task::uuid;

UPDATE "taskkit".taskkit_task_plan p SET report = r.report::json
FROM unnest($1::text[], $2::text[]) AS r(task, report) WHERE p.task_id = r.task::uuid;

COMMIT;
