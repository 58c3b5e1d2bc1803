-- Written by TestStatements; each statement once, in the order of execution.

BEGIN IMMEDIATE;

INSERT INTO taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode, max_attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING;

DELETE FROM taskkit_task_process WHERE ended_date < strftime('%Y-%m-%d %H:%M:%f', 'now', '-7 days');

DELETE FROM taskkit_unknown_kind AS q WHERE EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k,
    json_each(k.value) r
  WHERE p.ended_date IS NULL AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue));

COMMIT;
