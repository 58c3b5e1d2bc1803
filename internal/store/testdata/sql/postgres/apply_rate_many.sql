-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

SET LOCAL idle_in_transaction_session_timeout = '5s';

UPDATE "taskkit".taskkit_queued_task q SET
  checkpoint_seq = q.checkpoint_seq + 1::bigint,
  spec_revision = CASE WHEN 1::bigint = 1 AND $5::bigint <> q.codec_revision
    THEN coalesce(q.spec_revision, q.codec_revision) ELSE q.spec_revision END,
  codec_revision = CASE WHEN 1::bigint = 1 THEN $5::bigint ELSE q.codec_revision END,
  execution_state = CASE WHEN 1::bigint = 1 AND w.state <> '' THEN w.state::json ELSE q.execution_state END,
  items_total = CASE WHEN 1::bigint = 1 THEN nullif(greatest(w.total, -1), -1) ELSE q.items_total END,
  position = CASE WHEN 1::bigint = 1 THEN w.position ELSE q.position END,
  round = CASE WHEN 1::bigint = 1 THEN w.round ELSE q.round END,
  deferred = CASE WHEN 1::bigint = 1 THEN w.deferred = 1 ELSE q.deferred END,
  items_done = CASE WHEN 1::bigint = 1 THEN w.done ELSE q.items_done END,
  items_failed = CASE WHEN 1::bigint = 1 THEN w.failed ELSE q.items_failed END,
  items_skipped = CASE WHEN 1::bigint = 1 THEN w.skipped ELSE q.items_skipped END,
  attempts = $6::bigint,
  modified_date = clock_timestamp(), modified_by = q.run_as_id
FROM unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]),
    (SELECT $7::bigint[]), (SELECT $8::bigint[]), (SELECT $9::bigint[]), (SELECT $10::bigint[]),
    (SELECT $11::bigint[]), (SELECT $12::bigint[]), (SELECT $13::bigint[]), (SELECT $14::text[])) AS w(ord, id,
    fence, seq, total, position, round, deferred, done, failed, skipped, state)
WHERE q.id = w.id::uuid AND q.fence = w.fence AND q.checkpoint_seq = w.seq
  AND q.workflow_status || '' = 'EXECUTING'
RETURNING w.ord, q.control;

SELECT q.id, r.history, p.options FROM "taskkit".taskkit_queued_task q
  LEFT JOIN "taskkit".taskkit_task_rate r ON r.task_id = q.id LEFT JOIN "taskkit".taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = ANY($1::text[]::uuid[]);

INSERT INTO "taskkit".taskkit_task_rate (id, task_id, execution_component_name, history)
SELECT id::uuid, task_id::uuid, execution_component_name, history::json
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r(id, task_id, execution_component_name,
    history)
ON CONFLICT (task_id) DO UPDATE SET history = excluded.history, measured_date = excluded.measured_date;

COMMIT;
