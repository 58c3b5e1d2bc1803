-- Written by TestStatements; each statement once, in the order of execution.

SELECT 1 FROM (
SELECT * FROM (
  SELECT rowid AS at, priority + 4 * CASE WHEN stalled THEN 0 ELSE min(attempts + 1,
      4) END AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP',
      'DELETE')
    AND workflow_status || '' = 'QUEUED' AND queue || '' IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
    AND not_before < '9999-01-01'
  ORDER BY control, id LIMIT $3 + 0)
);

BEGIN IMMEDIATE;

SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision,
    q.queue, q.owner_id, q.run_as_id,
  CASE WHEN q.spec_revision IS NULL AND octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.position, q.round, q.deferred,
      q.items_done, q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
SELECT * FROM (
  SELECT rowid AS at, priority + 4 * CASE WHEN stalled THEN 0 ELSE min(attempts + 1,
      4) END AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP',
      'DELETE')
    AND workflow_status || '' = 'QUEUED' AND queue || '' IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
    AND not_before < '9999-01-01'
  ORDER BY control, id LIMIT $3 + 0)
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0;

UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = datetime('now', 'subsec'), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = datetime('now', 'subsec')
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status || '' = 'QUEUED';

COMMIT;
