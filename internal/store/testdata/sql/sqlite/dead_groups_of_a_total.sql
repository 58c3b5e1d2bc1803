-- Written by TestStatements; each statement once, in the order of execution.

SELECT count(*) FROM (WITH RECURSIVE keys(key) AS (
  SELECT ''
  UNION ALL
  SELECT (SELECT CASE WHEN d.workflow_status IN ('ERROR',
      'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END FROM taskkit_queued_task d INDEXED BY taskkit_dead
    WHERE CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
        AND CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END > k.key ORDER BY CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END LIMIT 1)
  FROM keys k WHERE k.key IS NOT NULL
) SELECT key FROM keys WHERE key <> '' AND key NOT LIKE '% child') k;

SELECT kind, code, count(*) FILTER (WHERE wanted), min(ended) FILTER (WHERE wanted),
    max(ended) FILTER (WHERE wanted), max(id) FILTER (WHERE wanted), max(n)
FROM (SELECT d.execution_component_name AS kind, substr(coalesce(d.workflow_status_desc, ''), 1,
    instr(coalesce(d.workflow_status_desc, '') || ': ', ': ') - 1) AS code, d.workflow_stopped_date AS ended,
    CAST(d.id AS text) AS id, count(*) OVER (PARTITION BY k.key) AS n, true AS wanted
FROM (WITH RECURSIVE keys(key) AS (
  SELECT ''
  UNION ALL
  SELECT (SELECT CASE WHEN d.workflow_status IN ('ERROR',
      'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END FROM taskkit_queued_task d INDEXED BY taskkit_dead
    WHERE CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
        AND CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END > k.key ORDER BY CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END LIMIT 1)
  FROM keys k WHERE k.key IS NOT NULL
) SELECT key FROM keys WHERE key <> ''
    AND key NOT LIKE '% child') k CROSS JOIN json_each((SELECT json_group_array(json_array(id, wanted,
    last)) FROM (SELECT p.*, true AS wanted, false AS last FROM (SELECT `q`.`id`,
    `q`.`execution_component_name`, `q`.`queue`, `q`.`workflow_status_desc`,
    `q`.`workflow_stopped_date` FROM `taskkit_queued_task` AS `q` WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
    AND CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END = k.key ORDER BY `q`.`id` DESC LIMIT 10000) p))) e CROSS JOIN taskkit_queued_task d ON d.id = e.value ->> 0
) x GROUP BY kind, code ORDER BY kind, code;
