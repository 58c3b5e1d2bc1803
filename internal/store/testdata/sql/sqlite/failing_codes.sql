-- Written by TestStatements; each statement once, in the order of execution.

SELECT code, count(*), CAST(sum(attempts) AS bigint), min(first), max(last), max(id) FROM (
  SELECT code, CAST(task_id AS text) AS id, count(*) AS attempts, min(created_date) AS first,
      max(created_date) AS last FROM (
    SELECT a.code, a.task_id, a.created_date FROM taskkit_task_attempt a ORDER BY a.id DESC LIMIT $1
  ) n WHERE created_date > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
      $2 / 1000.0)) GROUP BY code, task_id
) t GROUP BY code HAVING count(*) >= $3 ORDER BY count(*) DESC, code LIMIT $4;
