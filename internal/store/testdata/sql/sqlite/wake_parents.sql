-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

WITH over AS MATERIALIZED (
  SELECT q.id FROM taskkit_queued_task q JOIN taskkit_task_parent p ON p.task_id = q.id
  WHERE q.id IN (SELECT value FROM json_each($1)) AND p.waits AND q.fence = p.fence
      AND q.checkpoint_seq = p.checkpoint_seq
    AND q.workflow_status || '' = 'QUEUED' AND q.waiting_reason IN ('waits for its children',
        'waits for its children to end')
    AND (CASE WHEN p.open_at_most > 0 THEN (SELECT count(*) FROM taskkit_queued_task c WHERE c.parent_id = q.id
        AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
        'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
        'EXECUTING')) <= p.open_at_most
        ELSE NOT EXISTS (SELECT 1 FROM taskkit_queued_task c WHERE c.parent_id = q.id
            AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('QUEUED',
            'SCHEDULING', 'EXECUTING') AND c.workflow_status || '' IN ('QUEUED', 'SCHEDULING',
            'EXECUTING') LIMIT 1 OFFSET 0) END
      OR p.on_failure = 'pause' AND (SELECT count(*) FROM taskkit_queued_task c WHERE c.parent_id = q.id
          AND c.parent_id IS NOT NULL AND c.workflow_status <> '' AND c.workflow_status IN ('FAILURE',
          'ERROR') AND c.workflow_status || '' IN ('FAILURE', 'ERROR')) > p.failed_seen)
  ORDER BY q.id
)
UPDATE taskkit_queued_task SET not_before = datetime('now', 'subsec'),
    waiting_reason = 'its children have ended', modified_date = datetime('now', 'subsec')
WHERE id IN (SELECT id FROM over) RETURNING id;

COMMIT;
