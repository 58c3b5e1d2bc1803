-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, execution_component_name, workflow_status, items_failed + items_skipped,
  modified_date, not_before, datetime('now', 'subsec')
FROM taskkit_queued_task WHERE id > $1 ORDER BY id LIMIT $2;

BEGIN IMMEDIATE;

DELETE FROM taskkit_queued_task WHERE id IN (
  SELECT id FROM taskkit_queued_task q WHERE id IN (SELECT value FROM json_each($1))
      AND workflow_status || '' = 'QUEUED' AND modified_date < strftime('%Y-%m-%d %H:%M:%f', 'now',
      printf('-%.3f seconds', $2 / 1000.0)) AND not_before < strftime('%Y-%m-%d %H:%M:%f', 'now',
      printf('-%.3f seconds', $2 / 1000.0))
      AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL
      AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
      AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING') LIMIT 1 OFFSET 0)
  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM taskkit_queued_task p WHERE p.id = q.parent_id
      AND p.workflow_status <> 'COMPLETED')) ) RETURNING id;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6);

COMMIT;
