-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, kind, modified_date FROM (
  SELECT q.id, q.execution_component_name AS kind, q.modified_date, q.workflow_status, q.control,
      q.control_reason FROM taskkit_queued_task q
  WHERE q.id < $1 ORDER BY q.id DESC LIMIT $2
) n WHERE workflow_status = 'QUEUED' AND control = 'PAUSE' AND control_reason LIKE 'it waits for approval %'
    AND modified_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $3 / 1000.0))
ORDER BY id LIMIT $4;
