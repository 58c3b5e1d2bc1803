-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, version, started_date, last_heartbeat_date, dead_after_ms, kinds, queues, slots, max_attempts,
    coalesce(b.tasks, 0), draining, safe_mode,
  ended_date, coalesce(ended_reason, ''), presence_lock IS NOT NULL, found_alive_date, datetime('now',
      'subsec')
FROM taskkit_task_process LEFT JOIN (SELECT scheduled_by_process, count(*) AS tasks FROM taskkit_queued_task
  WHERE workflow_status IN ('SCHEDULING',
      'EXECUTING') GROUP BY scheduled_by_process) b ON b.scheduled_by_process = id
WHERE ended_date IS NULL OR ended_date > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    $1 / 1000.0))
ORDER BY CASE WHEN ended_date IS NULL THEN 0 ELSE 1 END, started_date DESC, id;
