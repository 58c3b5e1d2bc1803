-- Written by TestStatements; each statement once, in the order of execution.

SELECT workflow_status, count(*), sum(CASE WHEN partial THEN 1 ELSE 0 END),
    sum(CASE WHEN items_total IS NULL THEN 1 ELSE 0 END),
  CAST(sum(coalesce(items_total, 0)) AS bigint), CAST(sum(items_done) AS bigint),
      CAST(sum(items_failed) AS bigint), CAST(sum(items_skipped) AS bigint),
  CAST(sum(fence) AS bigint)
FROM "taskkit".taskkit_queued_task q WHERE q.parent_id = $1 AND q.parent_id IS NOT NULL
    AND q.workflow_status <> '' AND q.parent_id::text = ($1)::text GROUP BY workflow_status;

SELECT q.id, coalesce(q.items_total, -1), q.position, q.round, q.deferred, q.items_done, q.items_failed,
    q.items_skipped FROM "taskkit".taskkit_queued_task q JOIN "taskkit".taskkit_task_parent p ON p.task_id = q.id
WHERE q.parent_id = $1 AND q.parent_id IS NOT NULL AND q.workflow_status <> ''
    AND q.parent_id::text = ($1)::text;
