-- Written by TestStatements; each statement once, in the order of execution.

SELECT EXISTS (SELECT FROM "taskkit".taskkit_queued_task q
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.workflow_status || '' = 'QUEUED' AND q.queue || '' = ANY ($1::text[])
    AND q.execution_component_name || ' ' || q.codec_revision::text = ANY($2::text[])
    AND q.not_before < '9999-01-01 00:00:00+00');
