-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, fence, checkpoint_seq, workflow_status, control, coalesce(scheduled_by_process, ''),
  execution_state, attempts, coalesce(items_total, -1), items_taken, items_done, items_failed, items_skipped
FROM taskkit_queued_task WHERE id IN (SELECT value FROM json_each($1));
