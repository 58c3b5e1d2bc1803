-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

WITH gone AS MATERIALIZED (
  SELECT p.id,
      CASE WHEN (julianday('now') - julianday(p.last_heartbeat_date)) * 86400000.0 > p.dead_after_ms THEN 'silent for longer than it said it may be' ELSE 'killed, crashed or cut off from the database' END AS reason FROM taskkit_task_process p
  WHERE p.ended_date IS NULL
      AND ((julianday('now') - julianday(p.last_heartbeat_date)) * 86400000.0 > p.dead_after_ms OR p.presence_lock IN (SELECT value FROM json_each($1))
      AND p.absent_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
      $2 / 1000.0))) ORDER BY p.id
)
UPDATE taskkit_task_process SET ended_date = datetime('now', 'subsec'),
    ended_reason = (SELECT reason FROM gone WHERE gone.id = taskkit_task_process.id)
WHERE id IN (SELECT id FROM gone) RETURNING id;

SELECT q.id, coalesce(q.scheduled_by_process, ''), q.workflow_status,
    q.items_done + q.items_failed + q.items_skipped,
  (SELECT p.last_heartbeat_date FROM taskkit_task_process p WHERE p.id = q.scheduled_by_process),
      datetime('now', 'subsec')
FROM taskkit_queued_task q WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') AND NOT EXISTS (
    SELECT 1 FROM taskkit_task_process p WHERE p.id = scheduled_by_process
        AND p.ended_date IS NULL) ORDER BY q.created_date LIMIT $1;

UPDATE taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL, stalled = true,
  attempts = CASE WHEN workflow_status = 'SCHEDULING' AND attempts > 1 THEN attempts - 1 ELSE attempts END,
      not_before = datetime('now', 'subsec'), waiting_reason = 'its worker was lost',
      modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT value FROM json_each($1)) AND workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND NOT EXISTS (
    SELECT 1 FROM taskkit_task_process p WHERE p.id = scheduled_by_process
        AND p.ended_date IS NULL) RETURNING id;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, name)
VALUES ($1, $2, $3, $4, $5, $6, $7);

COMMIT;

WITH asked AS MATERIALIZED (
  SELECT q.id FROM taskkit_queued_task q
  WHERE q.control = 'DELETE' AND (q.workflow_status || '' IN ('COMPLETED', 'ERROR', 'FAILURE')
    OR q.workflow_status || '' = 'QUEUED' AND (q.fence = 0 OR NOT EXISTS (SELECT 1 FROM taskkit_task_process p,
        json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND NOT p.safe_mode AND k.key = q.execution_component_name
      AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue))))
        AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
        'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
        'EXECUTING') LIMIT 1 OFFSET 0)
  ORDER BY q.id LIMIT $1
)
DELETE FROM taskkit_queued_task WHERE id IN (SELECT id FROM asked) RETURNING id;

WITH asked AS MATERIALIZED (
  SELECT q.id FROM taskkit_queued_task q
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.control = 'STOP' AND (q.fence = 0 AND coalesce(q.control_reason,
        '') <> 'requested of its parent' OR NOT EXISTS (SELECT 1 FROM taskkit_task_process p,
        json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND NOT p.safe_mode AND k.key = q.execution_component_name
      AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue)))
        AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
        'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
        'EXECUTING') LIMIT 1 OFFSET 0)
  ORDER BY q.id LIMIT $1
)
UPDATE taskkit_queued_task SET workflow_status = 'COMPLETED', partial = true, control = '', control_by = NULL,
    control_reason = NULL, waiting_reason = NULL, workflow_stopped_date = datetime('now', 'subsec'),
    workflow_status_desc = 'stopped while no live worker could run it', modified_date = datetime('now',
    'subsec')
WHERE id IN (SELECT id FROM asked) RETURNING id;

SELECT 1 FROM taskkit_limit LIMIT 1;

SELECT task_id FROM taskkit_task_parent WHERE waits AND task_id > $1 ORDER BY task_id LIMIT $2;
