-- Written by TestStatements; each statement once, in the order of execution.

SELECT p.task_id, p.sums
FROM taskkit_task_parent p
WHERE p.task_id IN (SELECT value
FROM json_each($1)) AND p.sums IS NOT NULL;

SELECT q.parent_id, CASE WHEN f.task_id IS NOT NULL THEN q.id END, q.workflow_status, count(*),
    sum(CASE WHEN q.partial THEN 1 ELSE 0 END),
  sum(CASE WHEN q.items_total IS NULL THEN 1 ELSE 0 END), CAST(sum(coalesce(q.items_total, 0)) AS bigint),
  CAST(sum(q.items_done) AS bigint), CAST(sum(q.items_failed) AS bigint), CAST(sum(q.items_skipped) AS bigint),
      CAST(sum(q.fence) AS bigint)
FROM taskkit_queued_task q LEFT JOIN taskkit_task_parent f ON f.task_id = q.id
WHERE q.id IN (SELECT value FROM json_each($1)) AND q.parent_id IS NOT NULL GROUP BY 1, 2, 3;
