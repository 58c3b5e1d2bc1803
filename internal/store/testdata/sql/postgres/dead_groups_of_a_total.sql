-- Written by TestStatements; each statement once, in the order of execution.

SELECT count(*) FROM (WITH RECURSIVE keys(key) AS (
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
) SELECT key FROM keys WHERE key <> '' AND key NOT LIKE '% child') k;

SELECT kind, code, count(*) FILTER (WHERE wanted), min(ended) FILTER (WHERE wanted),
    max(ended) FILTER (WHERE wanted), max(id) FILTER (WHERE wanted), max(n)
FROM (SELECT d.execution_component_name AS kind, split_part(coalesce(d.workflow_status_desc, ''), ': ',
    1) AS code, d.workflow_stopped_date AS ended, CAST(d.id AS text) AS id,
    count(*) OVER (PARTITION BY k.key) AS n, true AS wanted
FROM (SELECT key FROM pg_catalog.unnest(ARRAY(WITH RECURSIVE keys(key) AS (
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
    AND key NOT LIKE '% child')) AS keys(key) LIMIT (SELECT 9223372036854775807)) k CROSS JOIN LATERAL (SELECT p.*,
    true AS wanted, false AS last FROM (SELECT "q"."id", "q"."execution_component_name", "q"."queue",
    "q"."workflow_status_desc",
    "q"."workflow_stopped_date" FROM "taskkit"."taskkit_queued_task" AS "q" WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END >= k.key
    AND (CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END,
    "q"."id") <= (k.key, $1) ORDER BY CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END DESC,
    "q"."id" DESC LIMIT 10000) p) d
) x GROUP BY kind, code ORDER BY kind, code;
