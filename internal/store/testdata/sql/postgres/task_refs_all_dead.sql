-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted,
    t.last FROM (SELECT * FROM (SELECT d.* FROM (SELECT key FROM pg_catalog.unnest(ARRAY(WITH RECURSIVE keys(key) AS (
  SELECT ''::text
  UNION ALL
  SELECT (SELECT CASE WHEN d.workflow_status IN ('ERROR',
      'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END FROM "taskkit".taskkit_queued_task d
    WHERE CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
        AND CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END > k.key ORDER BY CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END LIMIT 1)
  FROM keys k WHERE k.key IS NOT NULL
) SELECT key FROM keys WHERE key <> ''
    AND key NOT LIKE '% child')) AS keys(key) LIMIT (SELECT 9223372036854775807)) k CROSS JOIN LATERAL (SELECT * FROM (SELECT r.*,
    true AS wanted, row_number() OVER () = 250 AS last FROM (SELECT "q"."id", "q"."execution_component_name",
    "q"."control", "q"."owner_id", "q"."queue", "q"."reference", "q"."unique_key", "q"."parent_id",
    "q"."follows_id", "q"."workflow_status", "q"."workflow_status_desc", "q"."workflow_stopped_date",
    "q"."control_reason" FROM "taskkit"."taskkit_queued_task" AS "q" WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END >= k.key
    AND (CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END,
    "q"."id") <= (k.key, $1) ORDER BY CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END DESC,
    "q"."id" DESC LIMIT 250) r) s WHERE wanted OR last LIMIT 10000) d) u) t ORDER BY t.id DESC LIMIT 10000;
