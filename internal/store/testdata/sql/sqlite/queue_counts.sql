-- Written by TestStatements; each statement once, in the order of execution.

SELECT queue, CAST(sum(waiting) AS bigint), CAST(sum(due) AS bigint), CAST(sum(running) AS bigint),
    min(oldest), datetime('now', 'subsec') FROM (
  SELECT queue, count(*) AS waiting, count(*) FILTER (WHERE not_before <= datetime('now', 'subsec')) AS due,
      0 AS running,
    min(CASE WHEN not_before <= datetime('now', 'subsec') THEN not_before END) AS oldest
  FROM taskkit_queued_task WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' GROUP BY queue
  UNION ALL
  SELECT queue, 0, 0, count(*), NULL
  FROM taskkit_queued_task WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') GROUP BY queue
) n GROUP BY queue ORDER BY queue;
