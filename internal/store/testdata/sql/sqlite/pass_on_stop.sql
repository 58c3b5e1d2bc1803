-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_queued_task
SET modified_date = modified_date
WHERE id IN (SELECT value
FROM json_each($1))
RETURNING id, control, control_by, coalesce(control_reason, '');

WITH RECURSIVE above(id) AS (
  SELECT q.id FROM taskkit_queued_task q WHERE q.id IN (SELECT value FROM json_each($1))
  UNION SELECT q.parent_id FROM above JOIN taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT p.options FROM above JOIN taskkit_task_plan p ON p.task_id = above.id WHERE p.options ->> CAST('policies' AS text) IS NOT NULL;

SELECT id, workflow_status, control, fence, coalesce(control_reason, ''), fence = 0 AND EXISTS (SELECT 1
FROM taskkit_queued_task c
WHERE c.parent_id = q.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING')
LIMIT 1 OFFSET 0)
FROM taskkit_queued_task q
WHERE q.parent_id IN (SELECT value
FROM json_each($1)) AND q.parent_id IS NOT NULL AND q.workflow_status <> '' AND q.workflow_status IN ('QUEUED',
    'SCHEDULING', 'EXECUTING') AND q.workflow_status || '' IN ('QUEUED', 'SCHEDULING', 'EXECUTING')
    AND q.control NOT IN ('STOP', 'DELETE')
LIMIT $2;

INSERT INTO taskkit_task_event (id, task_id, action, actor, reason, was, name)
VALUES ($1, $2, $3, $4, $5, $6, $7);

UPDATE taskkit_queued_task
SET control = 'STOP', control_by = $3, control_reason = nullif($4, ''), not_before = datetime('now', 'subsec'),
    stalled = true, modified_date = datetime('now', 'subsec'), modified_by = $2
WHERE id IN (SELECT value
FROM json_each($1));

UPDATE taskkit_queued_task
SET control = 'STOP', control_by = $3, control_reason = nullif($4, ''), modified_date = datetime('now',
    'subsec'), modified_by = $2
WHERE id IN (SELECT value
FROM json_each($1));

UPDATE taskkit_queued_task
SET workflow_status = 'COMPLETED', partial = true, control = '', control_by = NULL, control_reason = NULL,
    waiting_reason = NULL, workflow_stopped_date = datetime('now', 'subsec'),
    workflow_status_desc = 'stopped while no worker had it', modified_date = datetime('now', 'subsec'),
    modified_by = $2
WHERE id IN (SELECT value
FROM json_each($1));

UPDATE taskkit_task_parent SET waits = false WHERE task_id IN (SELECT value FROM json_each($1)) AND waits;

COMMIT;
