-- Written by TestStatements; each statement once, in the order of execution.

WITH picked AS MATERIALIZED (
  SELECT q.id FROM "taskkit".taskkit_queued_task q
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.workflow_status || '' = 'QUEUED' AND q.queue || '' = ANY ($2::text[])
    AND q.execution_component_name || ' ' || q.codec_revision::text = ANY($3::text[])
    AND q.not_before < '9999-01-01 00:00:00+00'
    AND EXISTS (SELECT FROM "taskkit".taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.control, q.id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE "taskkit".taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = clock_timestamp(), first_started_date = coalesce(first_started_date,
        execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, modified_date = clock_timestamp()
  WHERE q.id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id,
      q.run_as_id,
    CASE WHEN q.spec_revision IS NULL
        AND pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.position, q.round, q.deferred, q.items_done, q.items_failed,
        q.items_skipped,
    q.created_date, coalesce(q.spec_revision, q.codec_revision) AS spec_revision,
        q.priority + 4 * CASE WHEN q.stalled THEN 0 ELSE LEAST((q.attempts - 1) + 1, 4) END AS rank,
        q.not_before
), next AS (SELECT -1::bigint AS wait, false AS paused, 0::bigint AS at, 0::bigint AS read)
SELECT n.wait, n.paused, n.at, n.read, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true;
