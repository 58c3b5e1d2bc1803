-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, fence, checkpoint_seq, workflow_status, control, coalesce(scheduled_by_process, ''),
  execution_state, attempts, coalesce(q.items_total, -1), q.position, q.round, q.deferred, q.items_done,
      q.items_failed, q.items_skipped
FROM taskkit_queued_task q WHERE id IN (SELECT value FROM json_each($1));
