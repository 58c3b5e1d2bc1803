-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, version, started_date, last_heartbeat_date, dead_after_ms, kinds, queues, slots, max_attempts,
    coalesce(b.tasks, 0), draining, safe_mode,
  ended_date, coalesce(ended_reason, ''), presence_lock IS NOT NULL, found_alive_date, clock_timestamp()
FROM "taskkit".taskkit_task_process LEFT JOIN (SELECT scheduled_by_process,
    count(*) AS tasks FROM "taskkit".taskkit_queued_task
  WHERE workflow_status IN ('SCHEDULING',
      'EXECUTING') GROUP BY scheduled_by_process) b ON b.scheduled_by_process = id
WHERE ended_date IS NULL OR ended_date > clock_timestamp() - $1::bigint::float8 * interval '1 millisecond'
ORDER BY CASE WHEN ended_date IS NULL THEN 0 ELSE 1 END, started_date DESC, id;
