-- Written by TestStatements; each statement once, in the order of execution.

SELECT min(execution_component_name) FROM taskkit_reference_version WHERE execution_component_name > $1;

SELECT id FROM (SELECT id, execution_component_name, unused FROM taskkit_reference_version
  WHERE (execution_component_name, unused, checked_date) <= ($1, true, (SELECT strftime('%Y-%m-%d %H:%M:%f',
      'now', printf('-%.3f seconds', $2 / 1000.0))))
  ORDER BY execution_component_name DESC, unused DESC, checked_date DESC LIMIT $3
) page WHERE execution_component_name = $1 AND unused = true;

SELECT id FROM (SELECT id, execution_component_name, unused FROM taskkit_reference_version
  WHERE (execution_component_name, unused, checked_date) <= ($1, false, (SELECT strftime('%Y-%m-%d %H:%M:%f',
      'now', printf('-%.3f seconds', $2 / 1000.0))))
  ORDER BY execution_component_name DESC, unused DESC, checked_date DESC LIMIT $3
) page WHERE execution_component_name = $1 AND unused = false;

BEGIN IMMEDIATE;

UPDATE taskkit_reference_version AS v SET unused = (SELECT q.id FROM taskkit_queued_task q
  WHERE q.reference || '' IS NOT NULL AND q.reference || '' >= v.reference || ''
      AND q.reference || '' <= v.reference || ''
    AND CASE WHEN q.execution_component_name = v.execution_component_name
        AND q.reference_version IS NOT NULL THEN true ELSE false END
  ORDER BY q.reference || '', q.id LIMIT 1) IS NULL, checked_date = datetime('now', 'subsec')
WHERE v.id IN (SELECT id FROM taskkit_reference_version WHERE id IN (SELECT value FROM json_each($1))
    AND unused = false AND checked_date <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    $2 / 1000.0)) );

COMMIT;

DELETE FROM taskkit_reference_version AS v
WHERE v.id IN (SELECT id FROM taskkit_reference_version WHERE id IN (SELECT value FROM json_each($1))
    AND unused = true AND checked_date <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds',
    $2 / 1000.0)) );
