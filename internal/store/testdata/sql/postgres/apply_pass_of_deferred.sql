-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queued_task q SET
  checkpoint_seq = q.checkpoint_seq + 1::bigint,
  spec_revision = CASE WHEN 1::bigint = 1 AND $4::bigint <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN 1::bigint = 1 THEN $4::bigint ELSE q.codec_revision END,
  execution_state = CASE WHEN 1::bigint = 1
      AND $13::text <> '' THEN $13::text::json ELSE q.execution_state END,
  items_total = CASE WHEN 1::bigint = 1 THEN nullif(greatest($6::bigint, -1), -1) ELSE q.items_total END,
  position = CASE WHEN 1::bigint = 1 THEN $7::bigint ELSE q.position END,
  round = CASE WHEN 1::bigint = 1 THEN $8::bigint ELSE q.round END,
  deferred = CASE WHEN 1::bigint = 1 THEN $9::bigint = 1 ELSE q.deferred END,
  items_done = CASE WHEN 1::bigint = 1 THEN $10::bigint ELSE q.items_done END,
  items_failed = CASE WHEN 1::bigint = 1 THEN $11::bigint ELSE q.items_failed END,
  items_skipped = CASE WHEN 1::bigint = 1 THEN $12::bigint ELSE q.items_skipped END,
  attempts = $5::bigint,
  modified_date = clock_timestamp(), modified_by = q.run_as_id
WHERE q.id = $1::text::uuid AND q.fence = $2::bigint AND q.checkpoint_seq = $3::bigint
  AND q.workflow_status || '' = 'EXECUTING'
RETURNING 0::bigint, q.control;

DELETE FROM "taskkit".taskkit_task_item
WHERE task_id = $1 AND outcome = 'deferred' AND position > $2 AND position <= $3 AND attempt <= $4;

UPDATE "taskkit".taskkit_task_item SET outcome = 'failed', created_date = clock_timestamp()
WHERE task_id = $1 AND outcome = 'deferred';

COMMIT;
