-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

WITH picked AS MATERIALIZED (
  SELECT q.id FROM taskkit_queued_task q JOIN taskkit_unknown_kind k
    ON k.execution_component_name = q.execution_component_name AND k.codec_revision = q.codec_revision
        AND k.queue = q.queue
  WHERE q.id IN (SELECT e.value FROM (SELECT k.queue, k.execution_component_name,
      k.codec_revision FROM taskkit_unknown_kind k WHERE k.first_seen_date < strftime('%Y-%m-%d %H:%M:%f',
      'now', printf('-%.3f seconds', $2 / 1000.0)) AND k.last_seen_date > strftime('%Y-%m-%d %H:%M:%f', 'now',
      printf('-%.3f seconds',
      $3 / 1000.0))) l CROSS JOIN json_each('[1,2,3,4,5,9,13,17,6,10,14,18,7,11,15,19,8,12,16,20]') r CROSS JOIN json_each((
    SELECT json_group_array(t.id) FROM (SELECT t.id FROM taskkit_queued_task t INDEXED BY taskkit_claim
      WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE' AND t.queue = l.queue
          AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision
          AND t.priority + 4 * CASE WHEN t.stalled THEN 0 ELSE min(t.attempts + 1, 4) END = r.value
        AND t.not_before <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
      ORDER BY t.not_before LIMIT $5 + 0) t)) e)
    AND q.workflow_status || '' = 'QUEUED' AND q.control = ''
    AND k.first_seen_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
        AND q.not_before < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
        AND k.last_seen_date > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $3 / 1000.0))
    AND EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.queues) u WHERE p.ended_date IS NULL
        AND NOT p.safe_mode AND u.value = q.queue) AND NOT EXISTS (SELECT 1 FROM taskkit_task_process p,
        json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue))
        AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
        'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
        'EXECUTING') LIMIT 1 OFFSET 0)
    AND q.queue || '' NOT IN (SELECT name FROM taskkit_queue WHERE paused)
    AND EXISTS (SELECT 1 FROM taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id LIMIT $4
)
UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1, scheduled_by_process = $1,
  scheduling_started_date = datetime('now', 'subsec'), first_started_date = coalesce(first_started_date,
      execution_started_date), execution_started_date = NULL, modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT id FROM picked) AND workflow_status || '' = 'QUEUED' RETURNING id;

UPDATE taskkit_queued_task SET workflow_status = 'ERROR', workflow_status_desc = $2,
    scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, workflow_stopped_date = datetime('now', 'subsec'),
      modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT value FROM json_each($1)) AND workflow_status || '' = 'SCHEDULING';

UPDATE taskkit_task_parent SET waits = false WHERE task_id IN (SELECT value FROM json_each($1)) AND waits;

SELECT q.id, q.execution_component_name, q.queue, q.owner_id, q.workflow_status, q.partial,
  substr(coalesce(q.workflow_status_desc, ''), 1, instr(coalesce(q.workflow_status_desc, '') || ': ',
      ': ') - 1), q.items_done, q.items_failed, q.items_skipped, coalesce(q.items_total, 0), datetime('now',
      'subsec'), p.options
FROM taskkit_queued_task q JOIN taskkit_task_plan p ON p.task_id = q.id
WHERE q.id IN (SELECT value FROM json_each($1))
    AND p.options ->> CAST('notify' AS text) IS NOT NULL ORDER BY q.id;

COMMIT;
