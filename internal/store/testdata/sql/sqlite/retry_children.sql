-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task
SET modified_date = modified_date
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status || '' IN ('SCHEDULING', 'EXECUTING')
RETURNING 1;

SELECT q.id, q.workflow_status FROM taskkit_queued_task q WHERE q.parent_id = $1 AND q.parent_id IS NOT NULL
    AND q.workflow_status <> '' AND q.workflow_status IN ('FAILURE', 'ERROR')
    AND q.workflow_status || '' IN ('FAILURE', 'ERROR') AND q.control <> 'DELETE'
  AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
    AND o.idempotency_key = $2 || CAST(q.id AS text))
  AND (q.unique_key IS NULL
    OR NOT EXISTS (SELECT 1 FROM taskkit_queued_task o WHERE o.execution_component_name = q.execution_component_name
      AND o.unique_key = q.unique_key AND o.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
    AND NOT EXISTS (SELECT 1 FROM taskkit_queued_task o WHERE o.parent_id = $1 AND o.parent_id IS NOT NULL
        AND o.workflow_status <> '' AND o.workflow_status IN ('FAILURE', 'ERROR')
        AND o.workflow_status || '' IN ('FAILURE', 'ERROR')
      AND o.execution_component_name = q.execution_component_name AND o.unique_key = q.unique_key
          AND o.id > q.id))
ORDER BY q.id LIMIT $3;

UPDATE taskkit_task_parent SET retry = false WHERE task_id = $1;

UPDATE taskkit_task_parent SET sums = NULL WHERE task_id = $1;

UPDATE taskkit_queued_task
SET control = '', control_by = NULL, control_reason = NULL, workflow_status = 'QUEUED', attempts = 0,
    workflow_stopped_date = NULL, stalled = false, not_before = datetime('now', 'subsec'),
    waiting_reason = 'retried', modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT value
FROM json_each($1));

SELECT q.id
FROM taskkit_queued_task q
WHERE q.id IN (SELECT value
FROM json_each($1)) AND EXISTS (SELECT 1
FROM taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
LIMIT 1 OFFSET 0);

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, name)
VALUES ($1, $2, $3, $4, $5, $6, $7);

COMMIT;
