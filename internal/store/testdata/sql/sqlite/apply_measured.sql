-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task SET
  workflow_status = $4,
  workflow_status_desc = coalesce(nullif($15, ''), workflow_status_desc),
  execution_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN execution_started_date
    ELSE coalesce(execution_started_date, datetime('now', 'subsec')) END,
  first_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN first_started_date
    ELSE coalesce(first_started_date, datetime('now', 'subsec')) END,
  workflow_stopped_date = CASE WHEN $4 NOT IN ('QUEUED', 'EXECUTING') THEN datetime('now', 'subsec') END,
  scheduled_by_process = CASE WHEN $4 = 'EXECUTING' THEN scheduled_by_process END,
  checkpoint_seq = checkpoint_seq + $5,
  spec_revision = CASE WHEN $5 AND $6 <> codec_revision THEN coalesce(spec_revision,
      codec_revision) ELSE spec_revision END,
  codec_revision = CASE WHEN $5 THEN $6 ELSE codec_revision END,
  execution_state = CASE WHEN $5 AND $7 <> '' THEN $7 ELSE execution_state END,
  items_total = CASE WHEN $5 THEN nullif(max($8, -1), -1) ELSE items_total END,
  items_taken = CASE WHEN $5 THEN $9 ELSE items_taken END,
  items_done = CASE WHEN $5 THEN $10 ELSE items_done END,
  items_failed = CASE WHEN $5 THEN $11 ELSE items_failed END,
  items_skipped = CASE WHEN $5 THEN $12 ELSE items_skipped END,
  attempts = $13,
  not_before = CASE WHEN $4 <> 'QUEUED' THEN not_before
    WHEN control IN ('STOP', 'DELETE') AND $16 <> 'waits for its children to end' THEN datetime('now',
        'subsec')
    WHEN typeof($14) = 'text' THEN $14
    WHEN $14 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', datetime('now', 'subsec'), printf('+%.3f seconds', $14 / 1000.0)) END,
  stalled = stalled AND ($4 = 'EXECUTING' OR (NOT $5 AND $13 < attempts))
    OR ($4 = 'QUEUED' AND control IN ('STOP', 'DELETE')),
  waiting_reason = CASE WHEN $4 = 'QUEUED' THEN nullif($16, '') END,
  partial = $17,
  modified_date = datetime('now', 'subsec'), modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND CASE $4
  WHEN 'EXECUTING' THEN workflow_status IN ('EXECUTING', 'SCHEDULING')
  WHEN 'QUEUED' THEN workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHEN 'COMPLETED' THEN workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHEN 'FAILURE' THEN workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHEN 'ERROR' THEN workflow_status IN ('SCHEDULING', 'EXECUTING') ELSE 0 END AND control = '';

SELECT q.id, r.history, p.options FROM taskkit_queued_task q
  LEFT JOIN taskkit_task_rate r ON r.task_id = q.id LEFT JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE q.id IN (SELECT value FROM json_each($1));

INSERT INTO taskkit_task_rate (id, task_id, execution_component_name, history) VALUES ($1, $2, $3, $4)
ON CONFLICT (task_id) DO UPDATE SET history = excluded.history, measured_date = excluded.measured_date;

COMMIT;
