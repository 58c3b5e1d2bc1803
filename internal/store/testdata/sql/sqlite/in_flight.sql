-- Written by TestStatements; each statement once, in the order of execution.

SELECT queue, kind, count(*), min(began) FROM (
  SELECT q.queue, q.execution_component_name AS kind,
      q.scheduling_started_date AS began FROM taskkit_queued_task q
  WHERE q.workflow_status IN ('SCHEDULING', 'EXECUTING') ORDER BY q.created_date LIMIT $1
) n GROUP BY queue, kind ORDER BY count(*) DESC, queue, kind;
