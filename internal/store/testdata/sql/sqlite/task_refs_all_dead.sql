-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.execution_component_name, t.control, t.wanted, t.last FROM (SELECT * FROM (SELECT d.id,
    d.execution_component_name, d.control, d.owner_id, d.queue, d.reference, d.unique_key, d.parent_id,
    d.follows_id, d.workflow_status, d.workflow_status_desc, d.workflow_stopped_date, d.control_reason,
    e.value ->> 1 AS wanted, e.value ->> 2 AS last FROM (WITH RECURSIVE keys(key) AS (
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
    last)) FROM (SELECT * FROM (SELECT r.*, true AS wanted,
    row_number() OVER () = 250 AS last FROM (SELECT `q`.`id`, `q`.`execution_component_name`, `q`.`control`,
    `q`.`owner_id`, `q`.`queue`, `q`.`reference`, `q`.`unique_key`, `q`.`parent_id`, `q`.`follows_id`,
    `q`.`workflow_status`, `q`.`workflow_status_desc`, `q`.`workflow_stopped_date`,
    `q`.`control_reason` FROM `taskkit_queued_task` AS `q` WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
    AND CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END = k.key ORDER BY `q`.`id` DESC LIMIT 250) r) s WHERE wanted OR last LIMIT 10000))) e CROSS JOIN taskkit_queued_task d ON d.id = e.value ->> 0) u) t ORDER BY t.id DESC LIMIT 10000;
