-- Written by TestStatements; each statement once, in the order of execution.

WITH failed AS (
  SELECT n.id, CAST(n.task_id AS text) AS task, n.created_date, (
    SELECT coalesce(q.execution_spec,
        (SELECT p.spec FROM taskkit_task_plan p WHERE p.task_id = q.id)) ->> CAST('target' AS text)
    FROM taskkit_queued_task q WHERE q.id = n.task_id AND q.execution_component_name = $2) AS target
  FROM (SELECT a.id, a.task_id, a.created_date FROM taskkit_task_attempt a ORDER BY a.id DESC LIMIT $1) n
  WHERE n.created_date > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', $3 / 1000.0))
), delivered AS (
  SELECT target, max(ended) AS last FROM (
    SELECT q.ended, coalesce(q.execution_spec,
        (SELECT p.spec FROM taskkit_task_plan p WHERE p.task_id = q.id)) ->> CAST('target' AS text) AS target FROM (
      SELECT e.id, e.workflow_status AS status, e.workflow_stopped_date AS ended,
          e.execution_spec FROM taskkit_queued_task e
      WHERE e.execution_component_name = $2 AND e.workflow_stopped_date IS NOT NULL
          AND e.keep_ms IS NULL ORDER BY e.workflow_stopped_date DESC LIMIT $1
    ) q WHERE q.status = 'COMPLETED'
    UNION ALL SELECT n.ended, (SELECT coalesce(q.execution_spec,
        (SELECT p.spec FROM taskkit_task_plan p WHERE p.task_id = q.id)) ->> CAST('target' AS text) FROM taskkit_queued_task q WHERE q.id = n.task_id) FROM (
      SELECT p.task_id, (SELECT k.workflow_stopped_date FROM taskkit_queued_task k WHERE k.id = p.task_id
        AND k.execution_component_name = $2 AND k.workflow_status = 'COMPLETED'
            AND k.keep_ms IS NOT NULL) AS ended
      FROM taskkit_task_plan p ORDER BY p.task_id DESC LIMIT $1
    ) n WHERE n.ended IS NOT NULL
  ) e GROUP BY target
), tried AS (
  SELECT f.target, f.task, count(*) AS tries, min(f.created_date) AS first, max(f.created_date) AS last,
      max(CAST(f.id AS text)) AS newest
  FROM failed f LEFT JOIN delivered d ON d.target = f.target WHERE f.target IS NOT NULL
      AND (d.last IS NULL OR d.last < f.created_date)
  GROUP BY f.target, f.task
), silent AS (
  SELECT target, count(*) AS notices, CAST(sum(tries) AS bigint) AS tries, min(first) AS first,
      max(last) AS last
  FROM tried GROUP BY target HAVING sum(tries) >= $4 ORDER BY sum(tries) DESC, target LIMIT $5
), newest AS (
  SELECT target, task, newest,
      row_number() OVER (PARTITION BY target ORDER BY newest DESC) AS place FROM tried
)
SELECT s.target, s.notices, s.tries, s.first, s.last, n.task,
    (SELECT q.workflow_status FROM taskkit_queued_task q WHERE q.id = n.task),
  (SELECT a.code FROM taskkit_task_attempt a WHERE a.id = n.newest)
FROM silent s JOIN newest n ON n.target = s.target AND n.place <= $5 ORDER BY s.tries DESC, s.target, n.place;
