-- Written by TestStatements; each statement once, in the order of execution.

UPDATE "taskkit".taskkit_queued_task q SET
  workflow_status = $7::text,
  workflow_status_desc = coalesce(nullif($12::text, ''), q.workflow_status_desc),
  execution_started_date = CASE WHEN $7::text IN ('QUEUED', 'ERROR') THEN q.execution_started_date
    ELSE coalesce(q.execution_started_date, clock_timestamp()) END,
  first_started_date = CASE WHEN $7::text IN ('QUEUED', 'ERROR') THEN q.first_started_date
    ELSE coalesce(q.first_started_date, clock_timestamp()) END,
  workflow_stopped_date = CASE WHEN $7::text IN ('COMPLETED', 'ERROR', 'FAILURE') THEN clock_timestamp() END,
  scheduled_by_process = CASE WHEN $7::text = 'EXECUTING' THEN q.scheduled_by_process END,
  not_before = CASE WHEN $7::text <> 'QUEUED' THEN q.not_before
    WHEN q.control IN ('STOP', 'DELETE') THEN clock_timestamp()
    WHEN $10::text <> '' THEN $10::text::timestamptz
    WHEN $9::bigint < 0 THEN q.not_before
    ELSE clock_timestamp() + $9::bigint * interval '1 millisecond' END,
  stalled = q.stalled AND ($7::text = 'EXECUTING' OR $4::bigint = 0 AND $6::bigint < q.attempts)
    OR $7::text = 'QUEUED' AND q.control IN ('STOP', 'DELETE'),
  waiting_reason = CASE WHEN $7::text = 'QUEUED' THEN nullif($11::text, '') END,
  partial = $8::bigint = 1,
  checkpoint_seq = q.checkpoint_seq + $4::bigint,
  spec_revision = CASE WHEN $4::bigint = 1 AND $5::bigint <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN $4::bigint = 1 THEN $5::bigint ELSE q.codec_revision END,
  execution_state = CASE WHEN $4::bigint = 1
      AND $18::text <> '' THEN $18::text::json ELSE q.execution_state END,
  items_total = CASE WHEN $4::bigint = 1 THEN nullif(greatest($13::bigint, -1), -1) ELSE q.items_total END,
  items_taken = CASE WHEN $4::bigint = 1 THEN $14::bigint ELSE q.items_taken END,
  items_done = CASE WHEN $4::bigint = 1 THEN $15::bigint ELSE q.items_done END,
  items_failed = CASE WHEN $4::bigint = 1 THEN $16::bigint ELSE q.items_failed END,
  items_skipped = CASE WHEN $4::bigint = 1 THEN $17::bigint ELSE q.items_skipped END,
  attempts = $6::bigint,
  modified_date = clock_timestamp(), modified_by = q.run_as_id
WHERE q.id = $1::text::uuid AND q.fence = $2::bigint AND q.checkpoint_seq = $3::bigint
  AND q.workflow_status || '>' || $7::text IN ('EXECUTING>EXECUTING', 'SCHEDULING>EXECUTING',
      'SCHEDULING>QUEUED', 'SCHEDULING>COMPLETED', 'SCHEDULING>FAILURE', 'SCHEDULING>ERROR',
      'EXECUTING>QUEUED', 'EXECUTING>COMPLETED', 'EXECUTING>FAILURE', 'EXECUTING>ERROR')
  AND NOT (q.control || '' = 'DELETE' AND $7::text IN ('COMPLETED', 'ERROR', 'FAILURE'))
RETURNING 0::bigint, q.control;
