-- Written by TestStatements; each statement once, in the order of execution.

SELECT execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date
FROM "taskkit".taskkit_unknown_kind
ORDER BY queue, execution_component_name, codec_revision;
