-- Written by TestStatements; each statement once, in the order of execution.

SELECT q.id, p.options, q.workflow_status, q.checkpoint_seq > 0, q.workflow_stopped_date,
    q.items_failed + q.items_skipped, datetime('now', 'subsec')
FROM (SELECT task_id, options, expiry_date FROM taskkit_task_plan
  WHERE expiry_date IS NOT NULL AND expiry_date < datetime('now', 'subsec')
  ORDER BY expiry_date LIMIT $1) p JOIN taskkit_queued_task q ON q.id = p.task_id ORDER BY p.expiry_date;

BEGIN IMMEDIATE;

WITH picked AS MATERIALIZED (
  SELECT q.id FROM taskkit_queued_task q WHERE q.id IN (SELECT value FROM json_each($2))
      AND q.workflow_status || '' = 'QUEUED' AND q.control = ''
    AND (q.fence = 0 OR NOT EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k,
        json_each(k.value) r
  WHERE p.ended_date IS NULL AND NOT p.safe_mode AND k.key = q.execution_component_name
      AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue)))
        AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
        'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
        'EXECUTING') LIMIT 1 OFFSET 0)
    AND EXISTS (SELECT 1 FROM taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id
)
UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1, scheduled_by_process = $1,
  scheduling_started_date = datetime('now', 'subsec'), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT id FROM picked) AND workflow_status || '' = 'QUEUED' RETURNING id;

UPDATE taskkit_queued_task SET workflow_status = 'FAILURE', workflow_status_desc = $2,
    scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, execution_started_date = datetime('now', 'subsec'),
      workflow_stopped_date = datetime('now', 'subsec'), modified_date = datetime('now', 'subsec')
WHERE id = $1 AND workflow_status || '' = 'SCHEDULING';

UPDATE taskkit_task_parent SET waits = false WHERE task_id IN (SELECT value FROM json_each($1)) AND waits;

UPDATE taskkit_task_plan SET expiry_date = strftime('%Y-%m-%d %H:%M:%f', $2) WHERE task_id = $1;

COMMIT;
