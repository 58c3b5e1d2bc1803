-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, execution_component_name, workflow_status, items_failed + items_skipped,
  created_date, modified_date, not_before, workflow_stopped_date, datetime('now', 'subsec')
FROM taskkit_queued_task WHERE id > $1 ORDER BY id LIMIT $2;

BEGIN IMMEDIATE;

DELETE FROM taskkit_queued_task WHERE id IN (
  SELECT id FROM taskkit_queued_task q WHERE id IN (SELECT value FROM json_each($1))
      AND workflow_status IN ('COMPLETED', 'ERROR', 'FAILURE')
      AND workflow_stopped_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM taskkit_queued_task p WHERE p.id = q.parent_id
      AND p.workflow_status <> 'COMPLETED')) ) RETURNING id;

COMMIT;
