-- Written by TestStatements; each statement once, in the order of execution.

SELECT (SELECT count(*) FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = o.id
    AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.parent_id::text = (o.id)::text
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED',
    'SCHEDULING', 'EXECUTING')),
  (SELECT count(*) FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = o.id AND c.parent_id IS NOT NULL
      AND c.workflow_status <> '' AND c.parent_id::text = (o.id)::text AND c.workflow_status IN ('FAILURE',
      'ERROR') AND c.workflow_status || '' IN ('FAILURE', 'ERROR')),
  p.open_at_most, p.on_failure, p.failed_seen, p.checkpoint_seq, p.waits, p.retry, p.ending, p.memo
FROM (SELECT $1::text::uuid AS id) o LEFT JOIN "taskkit".taskkit_task_parent p ON p.task_id = o.id;
