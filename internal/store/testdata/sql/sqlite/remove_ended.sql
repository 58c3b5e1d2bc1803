-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, workflow_stopped_date, items_failed + items_skipped FROM taskkit_queued_task
WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL AND execution_component_name = $1
    AND workflow_stopped_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
ORDER BY workflow_stopped_date, id LIMIT $3;

BEGIN IMMEDIATE;

DELETE FROM taskkit_queued_task WHERE id IN (
  SELECT id FROM taskkit_queued_task q WHERE id IN (SELECT value FROM json_each($1))
      AND workflow_status || '' IN ('COMPLETED', 'ERROR', 'FAILURE') AND coalesce(workflow_stopped_date,
      datetime('now', 'subsec')) < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM taskkit_queued_task p WHERE p.id = q.parent_id
      AND p.workflow_status <> 'COMPLETED')) ) RETURNING id;

COMMIT;

SELECT id, workflow_stopped_date, items_failed + items_skipped FROM taskkit_queued_task
WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL AND execution_component_name = $1
    AND workflow_stopped_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $2 / 1000.0))
    AND (workflow_stopped_date, id) > (strftime('%Y-%m-%d %H:%M:%f', $4), $5)
ORDER BY workflow_stopped_date, id LIMIT $3;
