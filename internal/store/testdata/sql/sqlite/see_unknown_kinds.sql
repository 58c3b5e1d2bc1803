-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date
FROM taskkit_unknown_kind
ORDER BY queue, execution_component_name, codec_revision;

SELECT q.execution_component_name, q.codec_revision, q.queue, q.tasks, datetime('now', 'subsec'),
    datetime('now', 'subsec') FROM (
  SELECT execution_component_name, codec_revision, queue, count(*) AS tasks FROM (
    SELECT execution_component_name, codec_revision, queue FROM taskkit_queued_task
    WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' AND control = '' AND not_before <= datetime('now',
        'subsec')
      AND queue NOT IN (SELECT name FROM taskkit_queue WHERE paused) LIMIT $1
  ) d GROUP BY execution_component_name, codec_revision, queue
) q WHERE EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.queues) u WHERE p.ended_date IS NULL
    AND NOT p.safe_mode AND u.value = q.queue) AND NOT EXISTS (SELECT 1 FROM taskkit_task_process p,
    json_each(p.kinds) k, json_each(k.value) r
  WHERE p.ended_date IS NULL AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue));

BEGIN IMMEDIATE;

INSERT INTO taskkit_unknown_kind (id, execution_component_name, codec_revision, queue, tasks)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (execution_component_name, codec_revision, queue) DO UPDATE SET tasks = excluded.tasks,
    last_seen_date = datetime('now', 'subsec'),
  first_seen_date = CASE WHEN taskkit_unknown_kind.last_seen_date < strftime('%Y-%m-%d %H:%M:%f', 'now',
      printf('-%.3f seconds', $6 / 1000.0)) THEN datetime('now',
      'subsec') ELSE taskkit_unknown_kind.first_seen_date END;

DELETE FROM taskkit_unknown_kind AS q WHERE EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.kinds) k,
    json_each(k.value) r
  WHERE p.ended_date IS NULL AND k.key = q.execution_component_name AND r.value = q.codec_revision
    AND EXISTS (SELECT 1 FROM json_each(p.queues) u WHERE u.value = q.queue));

DELETE
FROM taskkit_unknown_kind
WHERE last_seen_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $1 / 1000.0));

UPDATE taskkit_unknown_kind
SET reported_date = datetime('now', 'subsec')
WHERE reported_date IS NULL OR reported_date < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    $1 / 1000.0))
RETURNING execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date;

COMMIT;
