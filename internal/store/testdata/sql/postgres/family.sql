-- Written by TestStatements; each statement once, in the order of execution.

SELECT (SELECT count(*) FROM "taskkit".taskkit_queued_task WHERE parent_id = $1 AND parent_id IS NOT NULL
    AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')),
  (SELECT count(*) FROM "taskkit".taskkit_queued_task WHERE parent_id = $1 AND parent_id IS NOT NULL
      AND workflow_status IN ('FAILURE', 'ERROR')),
  p.open_at_most, p.on_failure, p.failed_seen, p.checkpoint_seq, p.waits, p.retry, p.ending, p.memo
FROM (SELECT 1 AS one) o LEFT JOIN "taskkit".taskkit_task_parent p ON p.task_id = $1;
