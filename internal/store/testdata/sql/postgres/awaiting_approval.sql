-- Written by TestStatements; each statement once, in the order of execution.

SELECT id, kind, modified_date FROM (
  SELECT q.id, q.execution_component_name AS kind, q.modified_date, q.workflow_status, q.control,
      q.control_reason FROM "taskkit".taskkit_queued_task q
  WHERE q.id < $1::text::uuid ORDER BY q.id DESC LIMIT (SELECT $2::bigint)
) n WHERE workflow_status = 'QUEUED' AND control = 'PAUSE' AND control_reason LIKE 'it waits for approval %'
    AND modified_date < clock_timestamp() - $3::bigint::float8 * interval '1 millisecond'
ORDER BY id LIMIT $4;
