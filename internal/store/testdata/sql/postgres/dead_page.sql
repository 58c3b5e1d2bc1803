-- Written by TestStatements; each statement once, in the order of execution.

SELECT t.id, t.created_date, t.modified_date, t.created_by, t.modified_by, t.codec_revision, t.spec_revision,
    t.secrets, t.workflow_status, t.workflow_status_desc, t.partial, t.waiting_reason,
    t.scheduling_started_date, t.first_started_date, t.execution_started_date, t.workflow_stopped_date,
    t.scheduled_by_process, t.fence, t.checkpoint_seq, t.attempts, t.not_before, t.priority, t.stalled,
    t.control, t.control_by, t.control_reason, t.items_total, t.position, t.round, t.deferred, t.items_done,
    t.items_failed, t.items_skipped, t.owner_id, t.run_as_id, t.execution_component_name, t.queue, t.reference,
    t.reason, t.unique_key, t.idempotency_key, t.parent_id, t.follows_id, t.traceparent, t.targets_field,
    t.reference_version, clock_timestamp(),
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT CAST(extract(epoch FROM r.expiry_date) * 1000.0 AS bigint) FROM "taskkit".taskkit_task_result r WHERE r.task_id = t.id),
    0) ELSE 0 END,
    CASE WHEN t.workflow_status = 'COMPLETED' THEN coalesce((SELECT r.result IS NULL FROM "taskkit".taskkit_task_result r WHERE r.task_id = t.id),
    false) ELSE false END, EXISTS (SELECT 1 FROM "taskkit".taskkit_queued_task c WHERE c.parent_id = t.id
    AND c.parent_id IS NOT NULL AND c.workflow_status <> ''
    AND c.parent_id::text = (t.id)::text LIMIT 1 OFFSET 0), t.wanted,
    t.last FROM (SELECT * FROM (SELECT d.* FROM (SELECT key FROM pg_catalog.unnest(ARRAY(WITH RECURSIVE keys(key) AS (
  SELECT ''::text
  UNION ALL
  SELECT (SELECT CASE WHEN d.workflow_status IN ('ERROR',
      'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END FROM "taskkit".taskkit_queued_task d
    WHERE CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL
        AND CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END > k.key ORDER BY CASE WHEN d.workflow_status IN ('ERROR',
        'FAILURE') THEN d.workflow_status || ' ' || d.execution_component_name || CASE WHEN d.parent_id IS NULL THEN '' ELSE ' child' END END LIMIT 1)
  FROM keys k WHERE k.key IS NOT NULL
) SELECT key FROM keys WHERE key <> ''
    AND key NOT LIKE '% child')) AS keys(key) LIMIT (SELECT 9223372036854775807)) k CROSS JOIN LATERAL (SELECT * FROM (SELECT r.*,
    CASE WHEN split_part(coalesce("r"."workflow_status_desc", ''), ': ', 1) = $1
    AND "r"."workflow_stopped_date" < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond' THEN true ELSE false END AS wanted,
    row_number() OVER () = 250 AS last FROM (SELECT "q"."id", "q"."created_date", "q"."modified_date",
    "q"."created_by", "q"."modified_by", "q"."codec_revision", "q"."spec_revision", "q"."secrets",
    "q"."workflow_status", "q"."workflow_status_desc", "q"."partial", "q"."waiting_reason",
    "q"."scheduling_started_date", "q"."first_started_date", "q"."execution_started_date",
    "q"."workflow_stopped_date", "q"."scheduled_by_process", "q"."fence", "q"."checkpoint_seq", "q"."attempts",
    "q"."not_before", "q"."priority", "q"."stalled", "q"."control", "q"."control_by", "q"."control_reason",
    "q"."items_total", "q"."position", "q"."round", "q"."deferred", "q"."items_done", "q"."items_failed",
    "q"."items_skipped", "q"."owner_id", "q"."run_as_id", "q"."execution_component_name", "q"."queue",
    "q"."reference", "q"."reason", "q"."unique_key", "q"."idempotency_key", "q"."parent_id", "q"."follows_id",
    "q"."traceparent", "q"."targets_field",
    "q"."reference_version" FROM "taskkit"."taskkit_queued_task" AS "q" WHERE CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END >= k.key
    AND (CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END,
    "q"."id") <= (k.key, $3) ORDER BY CASE WHEN q.workflow_status IN ('ERROR',
    'FAILURE') THEN q.workflow_status || ' ' || q.execution_component_name || CASE WHEN q.parent_id IS NULL THEN '' ELSE ' child' END END DESC,
    "q"."id" DESC LIMIT 250) r) s WHERE wanted OR last LIMIT 10) d) u) t ORDER BY t.id DESC LIMIT 10;
