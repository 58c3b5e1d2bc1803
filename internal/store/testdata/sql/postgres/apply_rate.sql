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

SELECT q.id, r.history, p.options FROM "taskkit".taskkit_queued_task q
  LEFT JOIN "taskkit".taskkit_task_rate r ON r.task_id = q.id LEFT JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = ANY($1::text[]::uuid[]);

INSERT INTO "taskkit".taskkit_task_rate (id, task_id, execution_component_name, history)
SELECT id::uuid, task_id::uuid, execution_component_name, history::json
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r(id, task_id, execution_component_name,
    history)
ON CONFLICT (task_id) DO UPDATE SET history = excluded.history, measured_date = excluded.measured_date;

COMMIT;
