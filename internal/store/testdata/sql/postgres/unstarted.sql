-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, fence, checkpoint_seq, workflow_status, control, coalesce(scheduled_by_process, ''),
  execution_state, attempts, coalesce(q.items_total, -1), q.position, q.round, q.deferred, q.items_done,
      q.items_failed, q.items_skipped
FROM "taskkit".taskkit_queued_task q WHERE workflow_status IN ('SCHEDULING', 'EXECUTING')
    AND scheduled_by_process = $1
  AND workflow_status || '' = 'SCHEDULING';
