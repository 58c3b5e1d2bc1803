-- +goose Up
-- +goose StatementBegin

-- Names of functions and operators are pg_catalog's, whatever the search_path of the migrator has.
SET LOCAL search_path = pg_catalog;
-- One migrator at a time: the lock ends with the transaction, so it holds through
-- a pooler too. After it, nobody queues behind a lock of ours for long.
SELECT pg_advisory_xact_lock(hashtextextended('taskkit migrate {schema}', 0));
SET LOCAL lock_timeout = '5s';

-- Planned from ent/schema by internal/cmd/schemaplan.

-- Create "taskkit_task_process" table
CREATE TABLE "{schema}"."taskkit_task_process" (
  "id" text NOT NULL,
  "version" text NOT NULL,
  "started_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "last_heartbeat_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "dead_after_ms" bigint NOT NULL,
  "kinds" json NOT NULL,
  "queues" json NOT NULL,
  "slots" bigint NOT NULL,
  "max_attempts" bigint NOT NULL DEFAULT '0',
  "draining" boolean NOT NULL DEFAULT (false),
  "safe_mode" boolean NOT NULL DEFAULT (false),
  "ended_date" timestamptz NULL,
  "ended_reason" text NULL,
  "presence_lock" bigint NULL,
  "absent_date" timestamptz NULL,
  "reads_until_date" timestamptz NULL,
  "found_alive_date" timestamptz NULL,
  PRIMARY KEY ("id")
);
-- Create "taskkit_task_limit" table
CREATE TABLE "{schema}"."taskkit_task_limit" (
  "id" uuid NOT NULL,
  "task_id" uuid NOT NULL,
  "limit_key" text NOT NULL,
  "fence" bigint NOT NULL,
  "at_most" integer NOT NULL,
  "waiting" boolean NOT NULL,
  PRIMARY KEY ("id")
);
-- Create index "taskkit_task_limit_task" to table: "taskkit_task_limit"
CREATE UNIQUE INDEX "taskkit_task_limit_task" ON "{schema}"."taskkit_task_limit" ("task_id", "limit_key");
-- Create index "taskkit_limit_waiting" to table: "taskkit_task_limit"
CREATE INDEX "taskkit_limit_waiting" ON "{schema}"."taskkit_task_limit" ("limit_key", "task_id") WHERE waiting;
-- Create index "taskkit_limit_holder" to table: "taskkit_task_limit"
CREATE INDEX "taskkit_limit_holder" ON "{schema}"."taskkit_task_limit" ("limit_key", "task_id") WHERE NOT waiting;
-- Create "taskkit_unknown_kind" table
CREATE TABLE "{schema}"."taskkit_unknown_kind" (
  "id" uuid NOT NULL,
  "execution_component_name" text NOT NULL,
  "codec_revision" integer NOT NULL,
  "queue" text NOT NULL,
  "tasks" bigint NOT NULL,
  "first_seen_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "last_seen_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "reported_date" timestamptz NULL,
  PRIMARY KEY ("id")
);
-- Create index "taskkit_unknown_kind_key" to table: "taskkit_unknown_kind"
CREATE UNIQUE INDEX "taskkit_unknown_kind_key" ON "{schema}"."taskkit_unknown_kind" ("execution_component_name", "codec_revision", "queue");
-- Create "taskkit_notification" table
CREATE TABLE "{schema}"."taskkit_notification" (
  "id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "target" text NOT NULL,
  "recipient" text NOT NULL,
  "kind" text NOT NULL,
  "state" text NOT NULL,
  "task_id" uuid NULL,
  "notice" json NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_notification_state" CHECK (state IN ('unsubscribed', 'sent', 'held', 'finding'))
);
-- Create index "taskkit_notification_recipient" to table: "taskkit_notification"
CREATE INDEX "taskkit_notification_recipient" ON "{schema}"."taskkit_notification" ("target", "recipient", "kind", "state");
-- Create "taskkit_queued_task" table
CREATE TABLE "{schema}"."taskkit_queued_task" (
  "id" uuid NOT NULL,
  "owner_id" uuid NOT NULL,
  "run_as_id" uuid NOT NULL,
  "created_by" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "modified_by" uuid NOT NULL,
  "not_before" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "position" bigint NOT NULL DEFAULT '0',
  "items_done" bigint NOT NULL DEFAULT '0',
  "items_failed" bigint NOT NULL DEFAULT '0',
  "items_skipped" bigint NOT NULL DEFAULT '0',
  "checkpoint_seq" bigint NOT NULL DEFAULT '0',
  "modified_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "fence" bigint NOT NULL DEFAULT '0',
  "codec_revision" integer NOT NULL DEFAULT '1',
  "attempts" integer NOT NULL DEFAULT '0',
  "round" integer NOT NULL DEFAULT '0',
  "priority" smallint NOT NULL DEFAULT '2',
  "stalled" boolean NOT NULL DEFAULT (false),
  "partial" boolean NOT NULL DEFAULT (false),
  "deferred" boolean NOT NULL DEFAULT (false),
  "workflow_status" text NOT NULL DEFAULT 'QUEUED',
  "control" text NOT NULL DEFAULT '',
  "scheduled_by_process" text NULL,
  "scheduling_started_date" timestamptz NULL,
  "execution_started_date" timestamptz NULL,
  "first_started_date" timestamptz NULL,
  "workflow_stopped_date" timestamptz NULL,
  "execution_state" json NOT NULL DEFAULT '{}',
  "workflow_status_desc" text NULL,
  "waiting_reason" text NULL,
  "reason" text NULL,
  "items_total" bigint NULL,
  "spec_revision" integer NULL,
  "secrets" text NULL,
  "control_by" uuid NULL,
  "control_reason" text NULL,
  "execution_component_name" text NOT NULL,
  "queue" text NOT NULL DEFAULT 'default',
  "execution_spec" json NULL,
  "reference" text NULL,
  "delayed" boolean NOT NULL DEFAULT (false),
  "reference_version" bigint NULL,
  "unique_key" text NULL,
  "idempotency_key" text NULL,
  "parent_id" uuid NULL,
  "follows_id" uuid NULL,
  "traceparent" text NULL,
  "targets_field" text NULL,
  "keep_ms" bigint NULL,
  PRIMARY KEY ("id")
);
-- Create index "taskkit_claim" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_claim" ON "{schema}"."taskkit_queued_task" ("queue", "execution_component_name", "codec_revision", (priority + 4 * CASE WHEN stalled THEN 0 ELSE LEAST(attempts + 1, 4) END), "not_before", "id") WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE';
-- Create index "taskkit_in_flight" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_in_flight" ON "{schema}"."taskkit_queued_task" ("created_date") WHERE workflow_status IN ('SCHEDULING', 'EXECUTING');
-- Create index "taskkit_requested" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_requested" ON "{schema}"."taskkit_queued_task" ("control", "id") WHERE control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED');
-- Create index "taskkit_paused" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_paused" ON "{schema}"."taskkit_queued_task" ((CASE WHEN substr(control_reason, 1, 22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END), "id") WHERE CASE WHEN control = 'PAUSE' THEN control END IS NOT NULL;
-- Create index "taskkit_owner" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_owner" ON "{schema}"."taskkit_queued_task" ("owner_id", "id") WHERE workflow_status NOT IN ('SCHEDULING', 'EXECUTING') AND parent_id IS NULL;
-- Create index "taskkit_ended" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_ended" ON "{schema}"."taskkit_queued_task" ("execution_component_name", "workflow_stopped_date") WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL;
-- Create index "taskkit_unique_key" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX "taskkit_unique_key" ON "{schema}"."taskkit_queued_task" ("execution_component_name", "unique_key") WHERE unique_key IS NOT NULL AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING');
-- Create index "taskkit_idempotency_key" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX "taskkit_idempotency_key" ON "{schema}"."taskkit_queued_task" ("execution_component_name", "idempotency_key") WHERE idempotency_key IS NOT NULL;
-- Create index "taskkit_reference" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX "taskkit_reference" ON "{schema}"."taskkit_queued_task" ("execution_component_name", "reference", (CASE WHEN fence = 0 THEN delayed END)) WHERE reference IS NOT NULL AND workflow_status = 'QUEUED';
-- Create index "taskkit_listed_reference" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_listed_reference" ON "{schema}"."taskkit_queued_task" ((reference || ''), "id") WHERE reference || '' IS NOT NULL;
-- Create index "taskkit_listed_key" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_listed_key" ON "{schema}"."taskkit_queued_task" ((unique_key || ''), "id") WHERE unique_key || '' IS NOT NULL;
-- Create index "taskkit_dead" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_dead" ON "{schema}"."taskkit_queued_task" ((CASE WHEN workflow_status IN ('ERROR', 'FAILURE') THEN workflow_status || ' ' || execution_component_name || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END END), "id") WHERE CASE WHEN workflow_status IN ('ERROR', 'FAILURE') THEN workflow_status || ' ' || execution_component_name || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL;
-- Create index "taskkit_child" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_child" ON "{schema}"."taskkit_queued_task" ("parent_id", "id") WHERE parent_id IS NOT NULL;
-- Create index "taskkit_child_status" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_child_status" ON "{schema}"."taskkit_queued_task" ("parent_id", "workflow_status") WHERE parent_id IS NOT NULL AND workflow_status <> '';
-- Create index "taskkit_follows" to table: "taskkit_queued_task"
CREATE INDEX "taskkit_follows" ON "{schema}"."taskkit_queued_task" ("follows_id", "id") WHERE follows_id IS NOT NULL;
-- Create "taskkit_reference_version" table
CREATE TABLE "{schema}"."taskkit_reference_version" (
  "id" uuid NOT NULL,
  "execution_component_name" text NOT NULL,
  "reference" text NOT NULL,
  "version" bigint NULL,
  "unused" boolean NOT NULL DEFAULT (false),
  "checked_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  PRIMARY KEY ("id")
);
-- Create index "taskkit_reference_version_key" to table: "taskkit_reference_version"
CREATE UNIQUE INDEX "taskkit_reference_version_key" ON "{schema}"."taskkit_reference_version" ("execution_component_name", "reference");
-- Create index "taskkit_reference_version_date" to table: "taskkit_reference_version"
CREATE INDEX "taskkit_reference_version_date" ON "{schema}"."taskkit_reference_version" ("execution_component_name", "unused", "checked_date");
-- Create "taskkit_schedule" table
CREATE TABLE "{schema}"."taskkit_schedule" (
  "id" uuid NOT NULL,
  "created_by" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "modified_by" uuid NOT NULL,
  "modified_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "version" bigint NOT NULL DEFAULT '1',
  "name" text NOT NULL,
  "execution_component_name" text NOT NULL,
  "execution_spec" json NOT NULL,
  "codec_revision" integer NOT NULL,
  "secrets" text NULL,
  "cron" text NOT NULL,
  "time_zone" text NOT NULL,
  "queue" text NOT NULL,
  "priority" smallint NOT NULL DEFAULT '2',
  "owner_id" uuid NOT NULL,
  "run_as_id" uuid NOT NULL,
  "misfire" text NOT NULL,
  "overlap" text NOT NULL,
  "task_options" text NULL,
  "paused" boolean NOT NULL DEFAULT (false),
  "paused_by" uuid NULL,
  "paused_reason" text NULL,
  "next_date" timestamptz NULL,
  "next_wall" text NULL,
  "overdue" text NULL,
  "buffered_wall" text NULL,
  "due_date" timestamptz NULL,
  "triggered" boolean NOT NULL DEFAULT (false),
  "triggered_by" uuid NULL,
  "trigger_reason" text NULL,
  "last_date" timestamptz NULL,
  "last_wall" text NULL,
  "last_task_id" uuid NULL,
  "last_error" text NULL,
  "last_error_date" timestamptz NULL,
  "replaced" text NULL,
  "alternations" integer NOT NULL DEFAULT '0',
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_schedule_misfire" CHECK (misfire IN ('once', 'all', 'forget')),
  CONSTRAINT "taskkit_schedule_next" CHECK ((next_date IS NULL) = (next_wall IS NULL)),
  CONSTRAINT "taskkit_schedule_overlap" CHECK (overlap IN ('skip', 'buffer', 'allow')),
  CONSTRAINT "taskkit_schedule_priority" CHECK (priority BETWEEN 1 AND 4)
);
-- Create index "taskkit_schedule_name" to table: "taskkit_schedule"
CREATE UNIQUE INDEX "taskkit_schedule_name" ON "{schema}"."taskkit_schedule" ("name");
-- Create index "taskkit_schedule_due" to table: "taskkit_schedule"
CREATE INDEX "taskkit_schedule_due" ON "{schema}"."taskkit_schedule" ("due_date") WHERE due_date IS NOT NULL;
-- Create "taskkit_queue" table
CREATE TABLE "{schema}"."taskkit_queue" (
  "name" text NOT NULL,
  "paused" boolean NOT NULL DEFAULT (false),
  "paused_by" uuid NULL,
  "paused_reason" text NULL,
  "paused_date" timestamptz NULL,
  "resumed_by" uuid NULL,
  "resumed_reason" text NULL,
  "resumed_date" timestamptz NULL,
  PRIMARY KEY ("name")
);
-- Create "taskkit_task_event" table
CREATE TABLE "{schema}"."taskkit_task_event" (
  "id" uuid NOT NULL,
  "task_id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "action" text NOT NULL,
  "actor" uuid NULL,
  "reason" text NULL,
  "was" text NOT NULL,
  "setting" text NULL,
  "name" text NULL,
  "became" text NULL,
  PRIMARY KEY ("id")
);
-- Create index "taskkit_event_task" to table: "taskkit_task_event"
CREATE INDEX "taskkit_event_task" ON "{schema}"."taskkit_task_event" ("task_id", "id");
-- Create "taskkit_event_prune" table
CREATE TABLE "{schema}"."taskkit_event_prune" (
  "id" uuid NOT NULL,
  "before_date" timestamptz NOT NULL,
  PRIMARY KEY ("id")
);
-- Create "taskkit_limit" table
CREATE TABLE "{schema}"."taskkit_limit" (
  "id" uuid NOT NULL,
  "limit_key" text NOT NULL,
  "at_most" integer NULL,
  "modified_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "modified_by" uuid NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_limit_at_most" CHECK (at_most IS NULL OR at_most >= 1)
);
-- Create index "taskkit_limit_key" to table: "taskkit_limit"
CREATE UNIQUE INDEX "taskkit_limit_key" ON "{schema}"."taskkit_limit" ("limit_key");
-- Create "taskkit_task_message" table
CREATE TABLE "{schema}"."taskkit_task_message" (
  "id" uuid NOT NULL,
  "source" text NOT NULL,
  "message_id" text NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "outcome" text NOT NULL,
  "body_hash" bigint NOT NULL,
  "task_id" uuid NULL,
  "code" text NULL,
  "detail" text NULL,
  "body" text NULL,
  "headers" text NULL,
  "dead_letter_error" text NULL,
  "redriven_date" timestamptz NULL,
  "redriven_by" uuid NULL,
  "redriven_reason" text NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_message_outcome" CHECK (outcome IN ('submitted', 'dropped', 'superseded', 'refused', 'redriven'))
);
-- Create index "taskkit_message_id" to table: "taskkit_task_message"
CREATE UNIQUE INDEX "taskkit_message_id" ON "{schema}"."taskkit_task_message" ("source", "message_id");
-- Create index "taskkit_message_refused" to table: "taskkit_task_message"
CREATE INDEX "taskkit_message_refused" ON "{schema}"."taskkit_task_message" ("source", "id") WHERE outcome = 'refused';
-- Create index "taskkit_message_redriven" to table: "taskkit_task_message"
CREATE INDEX "taskkit_message_redriven" ON "{schema}"."taskkit_task_message" ("source", "id") WHERE outcome = 'redriven';
-- Create index "taskkit_message_created" to table: "taskkit_task_message"
CREATE INDEX "taskkit_message_created" ON "{schema}"."taskkit_task_message" ("source", "created_date");
-- Create "taskkit_merged_key" table
CREATE TABLE "{schema}"."taskkit_merged_key" (
  "id" uuid NOT NULL,
  "execution_component_name" text NOT NULL,
  "idempotency_key" text NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_merged_key_taskkit_queued_task_merged_keys" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_merged_key_key" to table: "taskkit_merged_key"
CREATE UNIQUE INDEX "taskkit_merged_key_key" ON "{schema}"."taskkit_merged_key" ("execution_component_name", "idempotency_key");
-- Create index "taskkit_merged_key_task" to table: "taskkit_merged_key"
CREATE INDEX "taskkit_merged_key_task" ON "{schema}"."taskkit_merged_key" ("task_id");
-- Create "taskkit_task_attempt" table
CREATE TABLE "{schema}"."taskkit_task_attempt" (
  "id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "process" text NOT NULL,
  "fence" bigint NOT NULL,
  "checkpoint_seq" bigint NOT NULL,
  "attempt" bigint NOT NULL,
  "class" text NOT NULL,
  "code" text NOT NULL,
  "detail" text NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_attempt_taskkit_queued_task_failed_attempts" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_attempt_task" to table: "taskkit_task_attempt"
CREATE INDEX "taskkit_attempt_task" ON "{schema}"."taskkit_task_attempt" ("task_id", "id");
-- Create "taskkit_task_item" table
CREATE TABLE "{schema}"."taskkit_task_item" (
  "id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "position" bigint NOT NULL DEFAULT '0',
  "attempt" bigint NOT NULL,
  "outcome" text NOT NULL,
  "code" text NOT NULL,
  "item" text NOT NULL,
  "detail" text NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_item_taskkit_queued_task_items" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE,
  CONSTRAINT "taskkit_outcome" CHECK (outcome IN ('failed', 'skipped', 'deferred'))
);
-- Create index "taskkit_item_key" to table: "taskkit_task_item"
CREATE UNIQUE INDEX "taskkit_item_key" ON "{schema}"."taskkit_task_item" ("task_id", "item");
-- Create index "taskkit_item_outcome" to table: "taskkit_task_item"
CREATE INDEX "taskkit_item_outcome" ON "{schema}"."taskkit_task_item" ("task_id", "outcome", "position", "id");
-- Create index "taskkit_item_history" to table: "taskkit_task_item"
CREATE INDEX "taskkit_item_history" ON "{schema}"."taskkit_task_item" ("item", "created_date", "id");
-- Create index "taskkit_item_failed" to table: "taskkit_task_item"
CREATE INDEX "taskkit_item_failed" ON "{schema}"."taskkit_task_item" ("created_date", "id") WHERE outcome <> 'skipped' AND outcome <> 'deferred';
-- Create "taskkit_task_ledger" table
CREATE TABLE "{schema}"."taskkit_task_ledger" (
  "id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "batch" bigint NOT NULL,
  "items" bigint NOT NULL,
  "keys" bytea NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_ledger_taskkit_queued_task_ledger" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_ledger_batch" to table: "taskkit_task_ledger"
CREATE UNIQUE INDEX "taskkit_ledger_batch" ON "{schema}"."taskkit_task_ledger" ("task_id", "batch");
-- Create "taskkit_task_parent" table
CREATE TABLE "{schema}"."taskkit_task_parent" (
  "id" uuid NOT NULL,
  "open_at_most" bigint NOT NULL DEFAULT '0',
  "on_failure" text NOT NULL DEFAULT 'continue',
  "failed_seen" bigint NOT NULL DEFAULT '0',
  "fence" bigint NOT NULL DEFAULT '-1',
  "checkpoint_seq" bigint NOT NULL DEFAULT '-1',
  "waits" boolean NOT NULL DEFAULT (false),
  "retry" boolean NOT NULL DEFAULT (false),
  "ending" json NULL,
  "memo" json NULL,
  "sums" json NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_parent_taskkit_queued_task_family" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE,
  CONSTRAINT "taskkit_on_failure" CHECK (on_failure IN ('continue', 'pause', 'fail'))
);
-- Create index "taskkit_task_parent_task_id_key" to table: "taskkit_task_parent"
CREATE UNIQUE INDEX "taskkit_task_parent_task_id_key" ON "{schema}"."taskkit_task_parent" ("task_id");
-- Create index "taskkit_waiting_parent" to table: "taskkit_task_parent"
CREATE INDEX "taskkit_waiting_parent" ON "{schema}"."taskkit_task_parent" ("task_id") WHERE waits;
-- Create "taskkit_task_plan" table
CREATE TABLE "{schema}"."taskkit_task_plan" (
  "id" uuid NOT NULL,
  "created_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "targets" text NULL,
  "targets_field" text NULL,
  "targets_total" bigint NULL,
  "spec" json NULL,
  "options" json NULL,
  "expiry_date" timestamptz NULL,
  "report" json NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_plan_taskkit_queued_task_plan" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_task_plan_task_id_key" to table: "taskkit_task_plan"
CREATE UNIQUE INDEX "taskkit_task_plan_task_id_key" ON "{schema}"."taskkit_task_plan" ("task_id");
-- Create index "taskkit_plan_expiry" to table: "taskkit_task_plan"
CREATE INDEX "taskkit_plan_expiry" ON "{schema}"."taskkit_task_plan" ("expiry_date") WHERE expiry_date IS NOT NULL;
-- Create "taskkit_task_rate" table
CREATE TABLE "{schema}"."taskkit_task_rate" (
  "id" uuid NOT NULL,
  "execution_component_name" text NOT NULL,
  "measured_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "history" json NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_rate_taskkit_queued_task_rate" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_task_rate_task_id_key" to table: "taskkit_task_rate"
CREATE UNIQUE INDEX "taskkit_task_rate_task_id_key" ON "{schema}"."taskkit_task_rate" ("task_id");
-- Create index "taskkit_rate_kind" to table: "taskkit_task_rate"
CREATE INDEX "taskkit_rate_kind" ON "{schema}"."taskkit_task_rate" ("execution_component_name", "task_id");
-- Create "taskkit_task_result" table
CREATE TABLE "{schema}"."taskkit_task_result" (
  "id" uuid NOT NULL,
  "result" json NULL,
  "codec_revision" bigint NOT NULL DEFAULT '1',
  "finished_date" timestamptz NOT NULL DEFAULT (clock_timestamp()),
  "fetched_date" timestamptz NULL,
  "expiry_date" timestamptz NULL,
  "keep_fetched_ms" bigint NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_result_taskkit_queued_task_result" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_task_result_task_id_key" to table: "taskkit_task_result"
CREATE UNIQUE INDEX "taskkit_task_result_task_id_key" ON "{schema}"."taskkit_task_result" ("task_id");
-- Create index "taskkit_result_expiry" to table: "taskkit_task_result"
CREATE INDEX "taskkit_result_expiry" ON "{schema}"."taskkit_task_result" ("expiry_date") WHERE expiry_date IS NOT NULL AND result IS NOT NULL;
-- Create "taskkit_task_target" table
CREATE TABLE "{schema}"."taskkit_task_target" (
  "id" uuid NOT NULL,
  "page" integer NOT NULL,
  "keys" text NOT NULL,
  "task_id" uuid NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "taskkit_task_target_taskkit_queued_task_targets" FOREIGN KEY ("task_id") REFERENCES "{schema}"."taskkit_queued_task" ("id") ON DELETE CASCADE
);
-- Create index "taskkit_target_page" to table: "taskkit_task_target"
CREATE UNIQUE INDEX "taskkit_target_page" ON "{schema}"."taskkit_task_target" ("task_id", "page");

-- From internal/lifecycle and ent/schema by internal/cmd/schemaplan: what holds against any writer.

CREATE FUNCTION "{schema}"."taskkit_refuse"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'taskkit: %', TG_ARGV[0] USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END
$$;

CREATE FUNCTION "{schema}"."taskkit_transition"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NOT (NEW.fence = OLD.fence AND (OLD.workflow_status = NEW.workflow_status
      OR OLD.workflow_status || '>' || NEW.workflow_status = ANY ('{SCHEDULING>QUEUED,SCHEDULING>ERROR,EXECUTING>QUEUED,EXECUTING>COMPLETED,EXECUTING>FAILURE,EXECUTING>ERROR,ERROR>QUEUED,FAILURE>QUEUED}'::text[])
      OR NEW.execution_started_date IS NOT NULL AND OLD.workflow_status || '>' || NEW.workflow_status = ANY ('{SCHEDULING>EXECUTING,SCHEDULING>COMPLETED,SCHEDULING>FAILURE}'::text[])
      OR NEW.partial AND OLD.workflow_status || '>' || NEW.workflow_status = ANY ('{QUEUED>COMPLETED}'::text[]))
    OR NEW.fence = OLD.fence + 1 AND OLD.workflow_status || '>' || NEW.workflow_status = ANY ('{QUEUED>SCHEDULING}'::text[])) THEN
  RAISE EXCEPTION 'taskkit: %', TG_ARGV[0] USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (((NEW.scheduled_by_process IS NOT NULL) = (NEW.workflow_status = ANY ('{SCHEDULING,EXECUTING}'::text[])))) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: ((scheduled_by_process IS NOT NULL) = (workflow_status IN (''SCHEDULING'', ''EXECUTING'')))' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_held',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (NEW.workflow_status <> 'EXECUTING' OR NEW.execution_started_date IS NOT NULL) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: workflow_status <> ''EXECUTING'' OR execution_started_date IS NOT NULL' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_started',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (NEW.workflow_status = ANY ('{QUEUED,SCHEDULING,EXECUTING,COMPLETED,ERROR,FAILURE}'::text[])) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: workflow_status IN (''QUEUED'', ''SCHEDULING'', ''EXECUTING'', ''COMPLETED'', ''ERROR'', ''FAILURE'')' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_status',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (((NEW.workflow_stopped_date IS NOT NULL) = (NEW.workflow_status = ANY ('{COMPLETED,ERROR,FAILURE}'::text[])))) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: ((workflow_stopped_date IS NOT NULL) = (workflow_status IN (''COMPLETED'', ''ERROR'', ''FAILURE'')))' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_stopped',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
RETURN NULL;
END
$$;

CREATE FUNCTION "{schema}"."taskkit_event_delete"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NOT EXISTS (SELECT 1 FROM "{schema}"."taskkit_event_prune" WHERE OLD.created_date < before_date) THEN
  RAISE EXCEPTION 'taskkit: %', TG_ARGV[0] USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
RETURN NULL;
END
$$;

CREATE FUNCTION "{schema}"."taskkit_target_update"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NOT (NEW.task_id = OLD.task_id AND NEW.page = OLD.page
      AND substr(NEW.keys, 1, length(OLD.keys) - 1) = substr(OLD.keys, 1, length(OLD.keys) - 1)
      AND EXISTS (SELECT 1 FROM "{schema}"."taskkit_task_plan" WHERE task_id = NEW.task_id AND targets = 'finding')) THEN
  RAISE EXCEPTION 'taskkit: %', TG_ARGV[0] USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
RETURN NULL;
END
$$;

CREATE FUNCTION "{schema}"."taskkit_unapplied"(task uuid, held bigint, seq bigint, ends boolean) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF ends THEN
  DELETE FROM "{schema}"."taskkit_queued_task" q
  WHERE q.id = task AND q.fence = held AND q.checkpoint_seq = seq AND q.workflow_status IN ('SCHEDULING', 'EXECUTING') AND q.control = 'DELETE';
  IF FOUND THEN
    RETURN 'DELETE';
  END IF;
END IF;
RAISE EXCEPTION 'taskkit: task % is held by another or has ended', task USING ERRCODE = 'TK001';
END
$$;

CREATE FUNCTION "{schema}"."taskkit_insert"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NEW.workflow_status <> 'QUEUED' OR (NEW.fence | NEW.checkpoint_seq | NEW.attempts | NEW.round | NEW.items_done | NEW.items_failed | NEW.items_skipped) <> 0 OR NEW.position < 0 OR NEW.scheduled_by_process IS NOT NULL OR NEW.workflow_stopped_date IS NOT NULL
    OR NOT (NEW.control = ANY ('{"",STOP,PAUSE,DELETE}'::text[]))
    OR NOT (NEW.priority BETWEEN 1 AND 4) THEN
IF NEW.workflow_status <> 'QUEUED' OR (NEW.fence | NEW.checkpoint_seq | NEW.attempts | NEW.round | NEW.items_done | NEW.items_failed | NEW.items_skipped) <> 0 OR NEW.position < 0 OR NEW.scheduled_by_process IS NOT NULL OR NEW.workflow_stopped_date IS NOT NULL THEN
  RAISE EXCEPTION 'taskkit: %', 'a new task is QUEUED, with fence, checkpoint_seq and all counts of items 0, neither held nor stopped' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_guard_insert',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (NEW.control = ANY ('{"",STOP,PAUSE,DELETE}'::text[])) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: control IN ('''', ''STOP'', ''PAUSE'', ''DELETE'')' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_control',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
IF NOT (NEW.priority BETWEEN 1 AND 4) THEN
  RAISE EXCEPTION 'taskkit: %', 'every task must meet: priority BETWEEN 1 AND 4' USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = 'taskkit_priority',
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END IF;
END IF;
RETURN NEW;
END
$$;

CREATE TRIGGER "taskkit_guard_insert" BEFORE INSERT ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  EXECUTE FUNCTION "{schema}"."taskkit_insert"('a new task is QUEUED, with fence, checkpoint_seq and all counts of items 0, neither held nor stopped');

CREATE TRIGGER "taskkit_guard_sequence" AFTER UPDATE OF checkpoint_seq ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (NEW.checkpoint_seq - OLD.checkpoint_seq <> ALL ('{0,1}'::bigint[]))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('checkpoint_seq goes up by one');

CREATE TRIGGER "taskkit_guard_immutable" AFTER UPDATE OF id, owner_id, run_as_id, execution_component_name, unique_key ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.owner_id IS DISTINCT FROM NEW.owner_id OR OLD.run_as_id IS DISTINCT FROM NEW.run_as_id OR OLD.execution_component_name IS DISTINCT FROM NEW.execution_component_name OR (OLD.unique_key IS DISTINCT FROM NEW.unique_key) AND NOT (OLD.unique_key IS NULL AND OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED'))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('id, owner, run-as, kind and unique key of a task never change');

CREATE TRIGGER "taskkit_guard_spec" AFTER UPDATE OF execution_spec ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN ((OLD.execution_spec::text IS DISTINCT FROM NEW.execution_spec::text) AND NOT (OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED' AND OLD.fence = NEW.fence AND NEW.execution_state::text = '{}'))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('the spec of a task changes only while it waits, and with an empty state');

CREATE TRIGGER "taskkit_guard_target_update" AFTER UPDATE ON "{schema}"."taskkit_task_target" FOR EACH ROW
  EXECUTE FUNCTION "{schema}"."taskkit_target_update"('targets are only added, and only while a task finds them');

CREATE TRIGGER "taskkit_guard_targets" AFTER UPDATE OF targets, targets_field, targets_total ON "{schema}"."taskkit_task_plan" FOR EACH ROW
  WHEN (coalesce(OLD.targets, '') <> 'finding' AND (OLD.targets IS DISTINCT FROM NEW.targets OR OLD.targets_field IS DISTINCT FROM NEW.targets_field OR OLD.targets_total IS DISTINCT FROM NEW.targets_total))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('a complete set of targets never changes');

CREATE TRIGGER "taskkit_guard_ledger_update" AFTER UPDATE ON "{schema}"."taskkit_task_ledger" FOR EACH ROW
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('the ledger of a task never changes');

CREATE TRIGGER "taskkit_guard_event_update" AFTER UPDATE ON "{schema}"."taskkit_task_event" FOR EACH ROW
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('the log of what operators asked is append-only');

CREATE TRIGGER "taskkit_guard_event_delete" AFTER DELETE ON "{schema}"."taskkit_task_event" FOR EACH ROW
  EXECUTE FUNCTION "{schema}"."taskkit_event_delete"('the log of what operators asked is append-only');

CREATE TRIGGER "taskkit_guard_claim" AFTER UPDATE OF fence ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (NEW.fence <> OLD.fence AND NOT (NEW.fence = OLD.fence + 1 AND OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'SCHEDULING'
    AND NEW.scheduled_by_process IS NOT NULL AND NEW.workflow_stopped_date IS NULL))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('not a legal transition of a task');

CREATE TRIGGER "taskkit_guard_transition" AFTER UPDATE OF workflow_status, scheduled_by_process, execution_started_date, workflow_stopped_date ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (NEW.fence = OLD.fence AND NOT (OLD.scheduled_by_process IS NOT NULL AND NEW.scheduled_by_process IS NULL
    AND NEW.execution_started_date IS NOT NULL AND NEW.workflow_stopped_date IS NOT NULL
    AND NEW.workflow_status = ANY ('{COMPLETED,ERROR,FAILURE}'::text[])))
  EXECUTE FUNCTION "{schema}"."taskkit_transition"('not a legal transition of a task');

CREATE TRIGGER "taskkit_control" AFTER UPDATE OF control ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (NOT (NEW.control = ANY ('{"",STOP,PAUSE,DELETE}'::text[])))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('every task must meet: control IN ('''', ''STOP'', ''PAUSE'', ''DELETE'')');

CREATE TRIGGER "taskkit_counts" AFTER UPDATE OF attempts, position, round, items_done, items_failed, items_skipped ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (least(NEW.attempts, NEW.position, NEW.round, NEW.items_done, NEW.items_failed, NEW.items_skipped) < 0)
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('every task must meet: (fence | checkpoint_seq | attempts | position | round | items_done | items_failed | items_skipped) >= 0');

CREATE TRIGGER "taskkit_priority" AFTER UPDATE OF priority ON "{schema}"."taskkit_queued_task" FOR EACH ROW
  WHEN (NOT (NEW.priority BETWEEN 1 AND 4))
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('every task must meet: priority BETWEEN 1 AND 4');

-- By hand: storage parameters, which ent does not have.
--
-- A task's row is rewritten on every transition and checkpoint. Pages keep room
-- for the next version of each of their rows, since the log then holds only what
-- differs; and so do the pages of the index of owners, for the version that ends. Vacuum
-- comes by the number of dead rows and not by a share of a table that is mostly
-- finished tasks.
ALTER TABLE "{schema}"."taskkit_queued_task" SET (
  fillfactor = 40,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02
);
ALTER INDEX "{schema}"."taskkit_owner" SET (fillfactor = 65);
-- One parent may have nearly all children. By the statistics of that, a lookup of the
-- children of another task would read the table, as if it found one at once.
ALTER TABLE "{schema}"."taskkit_queued_task" ALTER COLUMN "parent_id" SET (n_distinct = -0.1);
-- One row a process, rewritten on every heartbeat and never in an index.
ALTER TABLE "{schema}"."taskkit_task_process" SET (
  fillfactor = 50,
  autovacuum_vacuum_threshold = 100,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);
-- A page of targets is written once and read a few times: it is not compressed,
-- to save time. How much that saves has not been measured.
ALTER TABLE "{schema}"."taskkit_task_target" ALTER COLUMN "keys" SET STORAGE EXTERNAL;
-- A page of a ledger is compressed before it is stored.
ALTER TABLE "{schema}"."taskkit_task_ledger" ALTER COLUMN "keys" SET STORAGE EXTERNAL;

-- +goose StatementEnd
