-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.created_date, t.modified_date, t.created_by, t.modified_by, t.codec_revision, t.spec_revision,
    t.secrets, t.workflow_status, t.workflow_status_desc, t.partial, t.waiting_reason,
    t.scheduling_started_date, t.first_started_date, t.execution_started_date, t.workflow_stopped_date,
    t.scheduled_by_process, t.fence, t.checkpoint_seq, t.attempts, t.not_before, t.priority, t.stalled,
    t.control, t.control_by, t.control_reason, t.items_total, t.position, t.round, t.deferred, t.items_done,
    t.items_failed, t.items_skipped, t.owner_id, t.run_as_id, t.execution_component_name, t.queue, t.reference,
    t.reason, t.unique_key, t.idempotency_key, t.parent_id, t.follows_id, t.traceparent, t.targets_field,
    t.reference_version, clock_timestamp(),
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT CAST(extract(epoch
FROM r.expiry_date) * 1000.0 AS bigint)
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = t.id), 0) ELSE 0 END,
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL
FROM "taskkit".taskkit_task_result r
WHERE r.task_id = t.id), false) ELSE false END, EXISTS (SELECT 1
FROM "taskkit".taskkit_queued_task c
WHERE c.parent_id = t.id AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (t.id)::text
LIMIT 1 OFFSET 0), t.wanted, t.last
FROM (SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN "r"."owner_id" = $1 AND "r"."control" = $2 THEN true ELSE false END AS wanted,
    row_number() OVER () = 2500 AS last
FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date", "q"."created_by", "q"."modified_by",
    "q"."codec_revision", "q"."spec_revision", "q"."secrets", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason", "q"."scheduling_started_date",
    "q"."first_started_date", "q"."execution_started_date", "q"."workflow_stopped_date",
    "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts", "q"."not_before",
    "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason", "q"."items_total",
    "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed", "q"."items_skipped",
    "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue", "q"."reference",
    "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field", "q"."reference_version"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END >= (SELECT $3::text)
    AND (CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END,
    "q"."id") < ((SELECT $4::text), $5)
ORDER BY CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END DESC,
    "q"."id" DESC
LIMIT 2500) r) s
WHERE wanted OR last
LIMIT 10) u
UNION ALL SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN "r"."owner_id" = $6 AND "r"."control" = $7 THEN true ELSE false END AS wanted,
    row_number() OVER () = 2500 AS last
FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date", "q"."created_by", "q"."modified_by",
    "q"."codec_revision", "q"."spec_revision", "q"."secrets", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason", "q"."scheduling_started_date",
    "q"."first_started_date", "q"."execution_started_date", "q"."workflow_stopped_date",
    "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts", "q"."not_before",
    "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason", "q"."items_total",
    "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed", "q"."items_skipped",
    "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue", "q"."reference",
    "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field", "q"."reference_version"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END >= (SELECT $8::text)
    AND (CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END,
    "q"."id") < ((SELECT $9::text), $10)
ORDER BY CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END DESC,
    "q"."id" DESC
LIMIT 2500) r) s
WHERE wanted OR last
LIMIT 10) u
UNION ALL SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN "r"."owner_id" = $11 AND "r"."control" = $12 THEN true ELSE false END AS wanted,
    row_number() OVER () = 2500 AS last
FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date", "q"."created_by", "q"."modified_by",
    "q"."codec_revision", "q"."spec_revision", "q"."secrets", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason", "q"."scheduling_started_date",
    "q"."first_started_date", "q"."execution_started_date", "q"."workflow_stopped_date",
    "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts", "q"."not_before",
    "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason", "q"."items_total",
    "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed", "q"."items_skipped",
    "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue", "q"."reference",
    "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field", "q"."reference_version"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END >= (SELECT $13::text)
    AND (CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END,
    "q"."id") < ((SELECT $14::text), $15)
ORDER BY CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END DESC,
    "q"."id" DESC
LIMIT 2500) r) s
WHERE wanted OR last
LIMIT 10) u
UNION ALL SELECT *
FROM (SELECT *
FROM (SELECT r.*, CASE WHEN "r"."owner_id" = $16 AND "r"."control" = $17 THEN true ELSE false END AS wanted,
    row_number() OVER () = 2500 AS last
FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date", "q"."created_by", "q"."modified_by",
    "q"."codec_revision", "q"."spec_revision", "q"."secrets", "q"."workflow_status",
    "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason", "q"."scheduling_started_date",
    "q"."first_started_date", "q"."execution_started_date", "q"."workflow_stopped_date",
    "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts", "q"."not_before",
    "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason", "q"."items_total",
    "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed", "q"."items_skipped",
    "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue", "q"."reference",
    "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field", "q"."reference_version"
FROM "taskkit"."taskkit_queued_task" AS "q"
WHERE CASE WHEN q.control = 'PAUSE' THEN q.control END IS NOT NULL AND CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END >= (SELECT $18::text)
    AND (CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END,
    "q"."id") < ((SELECT $19::text), $20)
ORDER BY CASE WHEN substr(q.control_reason, 1,
    22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END DESC,
    "q"."id" DESC
LIMIT 2500) r) s
WHERE wanted OR last
LIMIT 10) u) t
ORDER BY t.id DESC
LIMIT 10;
