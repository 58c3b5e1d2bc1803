-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

UPDATE taskkit_task_process SET ended_date = datetime('now', 'subsec'), ended_reason = 'left'
WHERE id = $1 AND ended_date IS NULL;

WITH picked AS MATERIALIZED (
  SELECT id FROM taskkit_queued_task
  WHERE scheduled_by_process = $1 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
  ORDER BY id
)
UPDATE taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL,
    not_before = datetime('now', 'subsec'),
  attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, stalled = stalled AND attempts > 0,
  waiting_reason = 'its worker left', modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT id FROM picked);

COMMIT;
