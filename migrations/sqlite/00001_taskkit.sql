-- +goose Up
-- +goose StatementBegin

-- Planned from ent/schema by internal/cmd/schemaplan.

-- Create "taskkit_event_prune" table
CREATE TABLE `taskkit_event_prune` (
  `id` uuid NOT NULL,
  `before_date` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create "taskkit_limit" table
CREATE TABLE `taskkit_limit` (
  `id` uuid NOT NULL,
  `limit_key` text NOT NULL,
  `at_most` integer NULL,
  `modified_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `modified_by` uuid NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_limit_at_most` CHECK (at_most IS NULL OR at_most >= 1)
);
-- Create index "taskkit_limit_key" to table: "taskkit_limit"
CREATE UNIQUE INDEX `taskkit_limit_key` ON `taskkit_limit` (`limit_key`);
-- Create "taskkit_merged_key" table
CREATE TABLE `taskkit_merged_key` (
  `id` uuid NOT NULL,
  `execution_component_name` text NOT NULL,
  `idempotency_key` text NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_merged_key_key" to table: "taskkit_merged_key"
CREATE UNIQUE INDEX `taskkit_merged_key_key` ON `taskkit_merged_key` (`execution_component_name`, `idempotency_key`);
-- Create index "taskkit_merged_key_task" to table: "taskkit_merged_key"
CREATE INDEX `taskkit_merged_key_task` ON `taskkit_merged_key` (`task_id`);
-- Create "taskkit_notification" table
CREATE TABLE `taskkit_notification` (
  `id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `target` text NOT NULL,
  `recipient` text NOT NULL,
  `kind` text NOT NULL,
  `state` text NOT NULL,
  `task_id` uuid NULL,
  `notice` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_notification_state` CHECK (CASE state WHEN 'unsubscribed' THEN 1 WHEN 'sent' THEN 1 WHEN 'held' THEN 1 WHEN 'finding' THEN 1 ELSE 0 END)
);
-- Create index "taskkit_notification_recipient" to table: "taskkit_notification"
CREATE INDEX `taskkit_notification_recipient` ON `taskkit_notification` (`target`, `recipient`, `kind`, `state`);
-- Create "taskkit_queued_task" table
CREATE TABLE `taskkit_queued_task` (
  `id` uuid NOT NULL,
  `owner_id` uuid NOT NULL,
  `run_as_id` uuid NOT NULL,
  `created_by` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `modified_by` uuid NOT NULL,
  `not_before` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `position` integer NOT NULL DEFAULT ('0'),
  `items_done` integer NOT NULL DEFAULT ('0'),
  `items_failed` integer NOT NULL DEFAULT ('0'),
  `items_skipped` integer NOT NULL DEFAULT ('0'),
  `checkpoint_seq` integer NOT NULL DEFAULT ('0'),
  `modified_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `fence` integer NOT NULL DEFAULT ('0'),
  `codec_revision` integer NOT NULL DEFAULT ('1'),
  `attempts` integer NOT NULL DEFAULT ('0'),
  `round` integer NOT NULL DEFAULT ('0'),
  `priority` integer NOT NULL DEFAULT ('2'),
  `stalled` bool NOT NULL DEFAULT (false),
  `partial` bool NOT NULL DEFAULT (false),
  `deferred` bool NOT NULL DEFAULT (false),
  `workflow_status` text NOT NULL DEFAULT ('QUEUED'),
  `control` text NOT NULL DEFAULT (''),
  `scheduled_by_process` text NULL,
  `scheduling_started_date` datetime NULL,
  `execution_started_date` datetime NULL,
  `first_started_date` datetime NULL,
  `workflow_stopped_date` datetime NULL,
  `execution_state` text NOT NULL DEFAULT '{}',
  `workflow_status_desc` text NULL,
  `waiting_reason` text NULL,
  `reason` text NULL,
  `items_total` integer NULL,
  `spec_revision` integer NULL,
  `secrets` text NULL,
  `control_by` uuid NULL,
  `control_reason` text NULL,
  `execution_component_name` text NOT NULL,
  `queue` text NOT NULL DEFAULT ('default'),
  `execution_spec` text NULL,
  `reference` text NULL,
  `delayed` bool NOT NULL DEFAULT (false),
  `reference_version` integer NULL,
  `unique_key` text NULL,
  `idempotency_key` text NULL,
  `parent_id` uuid NULL,
  `follows_id` uuid NULL,
  `traceparent` text NULL,
  `targets_field` text NULL,
  `keep_ms` integer NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_control` CHECK (CASE control WHEN '' THEN 1 WHEN 'STOP' THEN 1 WHEN 'PAUSE' THEN 1 WHEN 'DELETE' THEN 1 ELSE 0 END),
  CONSTRAINT `taskkit_counts` CHECK ((fence | checkpoint_seq | attempts | position | round | items_done | items_failed | items_skipped) >= 0),
  CONSTRAINT `taskkit_held` CHECK ((scheduled_by_process IS NOT NULL) = (workflow_status IN ('SCHEDULING', 'EXECUTING'))),
  CONSTRAINT `taskkit_priority` CHECK (priority BETWEEN 1 AND 4),
  CONSTRAINT `taskkit_started` CHECK (workflow_status <> 'EXECUTING' OR execution_started_date IS NOT NULL),
  CONSTRAINT `taskkit_status` CHECK (CASE workflow_status WHEN 'QUEUED' THEN 1 WHEN 'SCHEDULING' THEN 1 WHEN 'EXECUTING' THEN 1 WHEN 'COMPLETED' THEN 1 WHEN 'ERROR' THEN 1 WHEN 'FAILURE' THEN 1 ELSE 0 END),
  CONSTRAINT `taskkit_stopped` CHECK ((workflow_stopped_date IS NOT NULL) = (CASE workflow_status WHEN 'COMPLETED' THEN 1 WHEN 'ERROR' THEN 1 WHEN 'FAILURE' THEN 1 ELSE 0 END))
);
-- Create index "taskkit_claim" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_claim` ON `taskkit_queued_task` (`queue`, `execution_component_name`, `codec_revision`, (priority + 4 * CASE WHEN stalled THEN 0 ELSE min(attempts + 1, 4) END), `not_before`, `id`) WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE';
-- Create index "taskkit_in_flight" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_in_flight` ON `taskkit_queued_task` (`created_date`) WHERE workflow_status IN ('SCHEDULING', 'EXECUTING');
-- Create index "taskkit_requested" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_requested` ON `taskkit_queued_task` (`control`, `id`) WHERE control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED');
-- Create index "taskkit_paused" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_paused` ON `taskkit_queued_task` ((CASE WHEN substr(control_reason, 1, 22) = 'it waits for approval ' THEN 'approval' ELSE 'paused' END || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END), `id`) WHERE CASE WHEN control = 'PAUSE' THEN control END IS NOT NULL;
-- Create index "taskkit_owner" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_owner` ON `taskkit_queued_task` (`owner_id`, `id`) WHERE parent_id IS NULL;
-- Create index "taskkit_ended" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_ended` ON `taskkit_queued_task` (`execution_component_name`, `workflow_stopped_date`) WHERE workflow_stopped_date IS NOT NULL AND keep_ms IS NULL;
-- Create index "taskkit_unique_key" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX `taskkit_unique_key` ON `taskkit_queued_task` (`execution_component_name`, `unique_key`) WHERE unique_key IS NOT NULL AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING');
-- Create index "taskkit_idempotency_key" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX `taskkit_idempotency_key` ON `taskkit_queued_task` (`execution_component_name`, `idempotency_key`) WHERE idempotency_key IS NOT NULL;
-- Create index "taskkit_reference" to table: "taskkit_queued_task"
CREATE UNIQUE INDEX `taskkit_reference` ON `taskkit_queued_task` (`execution_component_name`, `reference`, (CASE WHEN fence = 0 THEN delayed END)) WHERE reference IS NOT NULL AND workflow_status = 'QUEUED';
-- Create index "taskkit_listed_reference" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_listed_reference` ON `taskkit_queued_task` ((reference || ''), `id`) WHERE reference || '' IS NOT NULL;
-- Create index "taskkit_listed_key" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_listed_key` ON `taskkit_queued_task` ((unique_key || ''), `id`) WHERE unique_key || '' IS NOT NULL;
-- Create index "taskkit_dead" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_dead` ON `taskkit_queued_task` ((CASE WHEN workflow_status IN ('ERROR', 'FAILURE') THEN workflow_status || ' ' || execution_component_name || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END END), `id`) WHERE CASE WHEN workflow_status IN ('ERROR', 'FAILURE') THEN workflow_status || ' ' || execution_component_name || CASE WHEN parent_id IS NULL THEN '' ELSE ' child' END END IS NOT NULL;
-- Create index "taskkit_child" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_child` ON `taskkit_queued_task` (`parent_id`, `id`) WHERE parent_id IS NOT NULL;
-- Create index "taskkit_child_status" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_child_status` ON `taskkit_queued_task` (`parent_id`, `workflow_status`) WHERE parent_id IS NOT NULL AND workflow_status <> '';
-- Create index "taskkit_follows" to table: "taskkit_queued_task"
CREATE INDEX `taskkit_follows` ON `taskkit_queued_task` (`follows_id`, `id`) WHERE follows_id IS NOT NULL;
-- Create "taskkit_reference_version" table
CREATE TABLE `taskkit_reference_version` (
  `id` uuid NOT NULL,
  `execution_component_name` text NOT NULL,
  `reference` text NOT NULL,
  `version` integer NULL,
  `unused` bool NOT NULL DEFAULT (false),
  `checked_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_reference_version_key" to table: "taskkit_reference_version"
CREATE UNIQUE INDEX `taskkit_reference_version_key` ON `taskkit_reference_version` (`execution_component_name`, `reference`);
-- Create index "taskkit_reference_version_date" to table: "taskkit_reference_version"
CREATE INDEX `taskkit_reference_version_date` ON `taskkit_reference_version` (`execution_component_name`, `unused`, `checked_date`);
-- Create "taskkit_schedule" table
CREATE TABLE `taskkit_schedule` (
  `id` uuid NOT NULL,
  `created_by` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `modified_by` uuid NOT NULL,
  `modified_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `version` integer NOT NULL DEFAULT ('1'),
  `name` text NOT NULL,
  `execution_component_name` text NOT NULL,
  `execution_spec` text NOT NULL,
  `codec_revision` integer NOT NULL,
  `secrets` text NULL,
  `cron` text NOT NULL,
  `time_zone` text NOT NULL,
  `queue` text NOT NULL,
  `priority` integer NOT NULL DEFAULT ('2'),
  `owner_id` uuid NOT NULL,
  `run_as_id` uuid NOT NULL,
  `misfire` text NOT NULL,
  `overlap` text NOT NULL,
  `task_options` text NULL,
  `paused` bool NOT NULL DEFAULT (false),
  `paused_by` uuid NULL,
  `paused_reason` text NULL,
  `next_date` datetime NULL,
  `next_wall` text NULL,
  `overdue` text NULL,
  `buffered_wall` text NULL,
  `due_date` datetime NULL,
  `triggered` bool NOT NULL DEFAULT (false),
  `triggered_by` uuid NULL,
  `trigger_reason` text NULL,
  `last_date` datetime NULL,
  `last_wall` text NULL,
  `last_task_id` uuid NULL,
  `last_error` text NULL,
  `last_error_date` datetime NULL,
  `replaced` text NULL,
  `alternations` integer NOT NULL DEFAULT ('0'),
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_schedule_misfire` CHECK (CASE misfire WHEN 'once' THEN 1 WHEN 'all' THEN 1 WHEN 'forget' THEN 1 ELSE 0 END),
  CONSTRAINT `taskkit_schedule_next` CHECK ((next_date IS NULL) = (next_wall IS NULL)),
  CONSTRAINT `taskkit_schedule_overlap` CHECK (CASE overlap WHEN 'skip' THEN 1 WHEN 'buffer' THEN 1 WHEN 'allow' THEN 1 ELSE 0 END),
  CONSTRAINT `taskkit_schedule_priority` CHECK (priority BETWEEN 1 AND 4)
);
-- Create index "taskkit_schedule_name" to table: "taskkit_schedule"
CREATE UNIQUE INDEX `taskkit_schedule_name` ON `taskkit_schedule` (`name`);
-- Create index "taskkit_schedule_due" to table: "taskkit_schedule"
CREATE INDEX `taskkit_schedule_due` ON `taskkit_schedule` (`due_date`) WHERE due_date IS NOT NULL;
-- Create "taskkit_task_attempt" table
CREATE TABLE `taskkit_task_attempt` (
  `id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `process` text NOT NULL,
  `fence` integer NOT NULL,
  `checkpoint_seq` integer NOT NULL,
  `attempt` integer NOT NULL,
  `class` text NOT NULL,
  `code` text NOT NULL,
  `detail` text NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_attempt_task" to table: "taskkit_task_attempt"
CREATE INDEX `taskkit_attempt_task` ON `taskkit_task_attempt` (`task_id`, `id`);
-- Create "taskkit_task_event" table
CREATE TABLE `taskkit_task_event` (
  `id` uuid NOT NULL,
  `task_id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `action` text NOT NULL,
  `actor` uuid NULL,
  `reason` text NULL,
  `was` text NOT NULL,
  `setting` text NULL,
  `name` text NULL,
  `became` text NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_event_task" to table: "taskkit_task_event"
CREATE INDEX `taskkit_event_task` ON `taskkit_task_event` (`task_id`, `id`);
-- Create "taskkit_task_item" table
CREATE TABLE `taskkit_task_item` (
  `id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `position` integer NOT NULL DEFAULT ('0'),
  `attempt` integer NOT NULL,
  `outcome` text NOT NULL,
  `code` text NOT NULL,
  `item` text NOT NULL,
  `detail` text NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_outcome` CHECK (CASE outcome WHEN 'failed' THEN 1 WHEN 'skipped' THEN 1 WHEN 'deferred' THEN 1 ELSE 0 END)
);
-- Create index "taskkit_item_key" to table: "taskkit_task_item"
CREATE UNIQUE INDEX `taskkit_item_key` ON `taskkit_task_item` (`task_id`, `item`);
-- Create index "taskkit_item_outcome" to table: "taskkit_task_item"
CREATE INDEX `taskkit_item_outcome` ON `taskkit_task_item` (`task_id`, `outcome`, `position`, `id`);
-- Create index "taskkit_item_history" to table: "taskkit_task_item"
CREATE INDEX `taskkit_item_history` ON `taskkit_task_item` (`item`, `created_date`, `id`);
-- Create index "taskkit_item_failed" to table: "taskkit_task_item"
CREATE INDEX `taskkit_item_failed` ON `taskkit_task_item` (`created_date`, `id`) WHERE outcome <> 'skipped' AND outcome <> 'deferred';
-- Create "taskkit_task_ledger" table
CREATE TABLE `taskkit_task_ledger` (
  `id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `batch` integer NOT NULL,
  `items` integer NOT NULL,
  `keys` blob NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_ledger_batch" to table: "taskkit_task_ledger"
CREATE UNIQUE INDEX `taskkit_ledger_batch` ON `taskkit_task_ledger` (`task_id`, `batch`);
-- Create "taskkit_task_limit" table
CREATE TABLE `taskkit_task_limit` (
  `id` uuid NOT NULL,
  `task_id` uuid NOT NULL,
  `limit_key` text NOT NULL,
  `fence` integer NOT NULL,
  `at_most` integer NOT NULL,
  `waiting` bool NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_task_limit_task" to table: "taskkit_task_limit"
CREATE UNIQUE INDEX `taskkit_task_limit_task` ON `taskkit_task_limit` (`task_id`, `limit_key`);
-- Create index "taskkit_limit_waiting" to table: "taskkit_task_limit"
CREATE INDEX `taskkit_limit_waiting` ON `taskkit_task_limit` (`limit_key`, `task_id`) WHERE waiting;
-- Create index "taskkit_limit_holder" to table: "taskkit_task_limit"
CREATE INDEX `taskkit_limit_holder` ON `taskkit_task_limit` (`limit_key`, `task_id`) WHERE NOT waiting;
-- Create "taskkit_task_message" table
CREATE TABLE `taskkit_task_message` (
  `id` uuid NOT NULL,
  `source` text NOT NULL,
  `message_id` text NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `outcome` text NOT NULL,
  `body_hash` integer NOT NULL,
  `task_id` uuid NULL,
  `code` text NULL,
  `detail` text NULL,
  `body` text NULL,
  `headers` text NULL,
  `dead_letter_error` text NULL,
  `redriven_date` datetime NULL,
  `redriven_by` uuid NULL,
  `redriven_reason` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_message_outcome` CHECK (CASE outcome WHEN 'submitted' THEN 1 WHEN 'dropped' THEN 1 WHEN 'superseded' THEN 1 WHEN 'refused' THEN 1 WHEN 'redriven' THEN 1 ELSE 0 END)
);
-- Create index "taskkit_message_id" to table: "taskkit_task_message"
CREATE UNIQUE INDEX `taskkit_message_id` ON `taskkit_task_message` (`source`, `message_id`);
-- Create index "taskkit_message_refused" to table: "taskkit_task_message"
CREATE INDEX `taskkit_message_refused` ON `taskkit_task_message` (`source`, `id`) WHERE outcome = 'refused';
-- Create index "taskkit_message_redriven" to table: "taskkit_task_message"
CREATE INDEX `taskkit_message_redriven` ON `taskkit_task_message` (`source`, `id`) WHERE outcome = 'redriven';
-- Create index "taskkit_message_created" to table: "taskkit_task_message"
CREATE INDEX `taskkit_message_created` ON `taskkit_task_message` (`source`, `created_date`);
-- Create "taskkit_task_parent" table
CREATE TABLE `taskkit_task_parent` (
  `id` uuid NOT NULL,
  `open_at_most` integer NOT NULL DEFAULT ('0'),
  `on_failure` text NOT NULL DEFAULT ('continue'),
  `failed_seen` integer NOT NULL DEFAULT ('0'),
  `fence` integer NOT NULL DEFAULT ('-1'),
  `checkpoint_seq` integer NOT NULL DEFAULT ('-1'),
  `waits` bool NOT NULL DEFAULT (false),
  `retry` bool NOT NULL DEFAULT (false),
  `ending` text NULL,
  `memo` text NULL,
  `sums` text NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `taskkit_on_failure` CHECK (CASE on_failure WHEN 'continue' THEN 1 WHEN 'pause' THEN 1 WHEN 'fail' THEN 1 ELSE 0 END)
);
-- Create index "taskkit_task_parent_task_id_key" to table: "taskkit_task_parent"
CREATE UNIQUE INDEX `taskkit_task_parent_task_id_key` ON `taskkit_task_parent` (`task_id`);
-- Create index "taskkit_waiting_parent" to table: "taskkit_task_parent"
CREATE INDEX `taskkit_waiting_parent` ON `taskkit_task_parent` (`task_id`) WHERE waits;
-- Create "taskkit_task_plan" table
CREATE TABLE `taskkit_task_plan` (
  `id` uuid NOT NULL,
  `created_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `targets` text NULL,
  `targets_field` text NULL,
  `targets_total` integer NULL,
  `spec` text NULL,
  `options` text NULL,
  `expiry_date` datetime NULL,
  `report` text NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_task_plan_task_id_key" to table: "taskkit_task_plan"
CREATE UNIQUE INDEX `taskkit_task_plan_task_id_key` ON `taskkit_task_plan` (`task_id`);
-- Create index "taskkit_plan_expiry" to table: "taskkit_task_plan"
CREATE INDEX `taskkit_plan_expiry` ON `taskkit_task_plan` (`expiry_date`) WHERE expiry_date IS NOT NULL;
-- Create "taskkit_task_process" table
CREATE TABLE `taskkit_task_process` (
  `id` text NOT NULL,
  `version` text NOT NULL,
  `started_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `last_heartbeat_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `dead_after_ms` integer NOT NULL,
  `kinds` text NOT NULL,
  `queues` text NOT NULL,
  `slots` integer NOT NULL,
  `max_attempts` integer NOT NULL DEFAULT ('0'),
  `draining` bool NOT NULL DEFAULT (false),
  `safe_mode` bool NOT NULL DEFAULT (false),
  `ended_date` datetime NULL,
  `ended_reason` text NULL,
  `presence_lock` integer NULL,
  `absent_date` datetime NULL,
  `reads_until_date` datetime NULL,
  `found_alive_date` datetime NULL,
  PRIMARY KEY (`id`)
);
-- Create "taskkit_queue" table
CREATE TABLE `taskkit_queue` (
  `name` text NOT NULL,
  `paused` bool NOT NULL DEFAULT (false),
  `paused_by` uuid NULL,
  `paused_reason` text NULL,
  `paused_date` datetime NULL,
  `resumed_by` uuid NULL,
  `resumed_reason` text NULL,
  `resumed_date` datetime NULL,
  PRIMARY KEY (`name`)
);
-- Create "taskkit_task_rate" table
CREATE TABLE `taskkit_task_rate` (
  `id` uuid NOT NULL,
  `execution_component_name` text NOT NULL,
  `measured_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `history` text NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_task_rate_task_id_key" to table: "taskkit_task_rate"
CREATE UNIQUE INDEX `taskkit_task_rate_task_id_key` ON `taskkit_task_rate` (`task_id`);
-- Create index "taskkit_rate_kind" to table: "taskkit_task_rate"
CREATE INDEX `taskkit_rate_kind` ON `taskkit_task_rate` (`execution_component_name`, `task_id`);
-- Create "taskkit_task_result" table
CREATE TABLE `taskkit_task_result` (
  `id` uuid NOT NULL,
  `result` text NULL,
  `codec_revision` integer NOT NULL DEFAULT ('1'),
  `finished_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `fetched_date` datetime NULL,
  `expiry_date` datetime NULL,
  `keep_fetched_ms` integer NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_task_result_task_id_key" to table: "taskkit_task_result"
CREATE UNIQUE INDEX `taskkit_task_result_task_id_key` ON `taskkit_task_result` (`task_id`);
-- Create index "taskkit_result_expiry" to table: "taskkit_task_result"
CREATE INDEX `taskkit_result_expiry` ON `taskkit_task_result` (`expiry_date`) WHERE expiry_date IS NOT NULL AND result IS NOT NULL;
-- Create "taskkit_task_target" table
CREATE TABLE `taskkit_task_target` (
  `id` uuid NOT NULL,
  `page` integer NOT NULL,
  `keys` text NOT NULL,
  `task_id` uuid NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_target_page" to table: "taskkit_task_target"
CREATE UNIQUE INDEX `taskkit_target_page` ON `taskkit_task_target` (`task_id`, `page`);
-- Create "taskkit_unknown_kind" table
CREATE TABLE `taskkit_unknown_kind` (
  `id` uuid NOT NULL,
  `execution_component_name` text NOT NULL,
  `codec_revision` integer NOT NULL,
  `queue` text NOT NULL,
  `tasks` integer NOT NULL,
  `first_seen_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `last_seen_date` datetime NOT NULL DEFAULT (datetime('now', 'subsec')),
  `reported_date` datetime NULL,
  PRIMARY KEY (`id`)
);
-- Create index "taskkit_unknown_kind_key" to table: "taskkit_unknown_kind"
CREATE UNIQUE INDEX `taskkit_unknown_kind_key` ON `taskkit_unknown_kind` (`execution_component_name`, `codec_revision`, `queue`);

-- From internal/lifecycle and ent/schema by internal/cmd/schemaplan: what holds against any writer.

CREATE TRIGGER `taskkit_guard_insert` AFTER INSERT ON `taskkit_queued_task` FOR EACH ROW
  WHEN NEW.workflow_status <> 'QUEUED' OR (NEW.fence | NEW.checkpoint_seq | NEW.attempts | NEW.round | NEW.items_done | NEW.items_failed | NEW.items_skipped) <> 0 OR NEW.position < 0 OR NEW.scheduled_by_process IS NOT NULL OR NEW.workflow_stopped_date IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a new task is QUEUED, with fence, checkpoint_seq and all counts of items 0, neither held nor stopped');
END;

CREATE TRIGGER `taskkit_guard_sequence` AFTER UPDATE OF checkpoint_seq ON `taskkit_queued_task` FOR EACH ROW
  WHEN NEW.checkpoint_seq <> OLD.checkpoint_seq AND NEW.checkpoint_seq <> OLD.checkpoint_seq + 1
BEGIN
  SELECT RAISE(ABORT, 'taskkit: checkpoint_seq goes up by one');
END;

CREATE TRIGGER `taskkit_guard_immutable` AFTER UPDATE OF id, owner_id, run_as_id, execution_component_name, unique_key ON `taskkit_queued_task` FOR EACH ROW
  WHEN OLD.id IS NOT NEW.id OR OLD.owner_id IS NOT NEW.owner_id OR OLD.run_as_id IS NOT NEW.run_as_id OR OLD.execution_component_name IS NOT NEW.execution_component_name OR (OLD.unique_key IS NOT NEW.unique_key) AND NOT (OLD.unique_key IS NULL AND OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED')
BEGIN
  SELECT RAISE(ABORT, 'taskkit: id, owner, run-as, kind and unique key of a task never change');
END;

CREATE TRIGGER `taskkit_guard_spec` AFTER UPDATE OF execution_spec ON `taskkit_queued_task` FOR EACH ROW
  WHEN (OLD.execution_spec IS NOT NEW.execution_spec) AND NOT (OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED' AND OLD.fence = NEW.fence AND NEW.execution_state = '{}')
BEGIN
  SELECT RAISE(ABORT, 'taskkit: the spec of a task changes only while it waits, and with an empty state');
END;

CREATE TRIGGER `taskkit_guard_target_update` AFTER UPDATE ON `taskkit_task_target` FOR EACH ROW
  WHEN NOT (NEW.task_id = OLD.task_id AND NEW.page = OLD.page
      AND substr(NEW.keys, 1, length(OLD.keys) - 1) = substr(OLD.keys, 1, length(OLD.keys) - 1) AND EXISTS (SELECT 1 FROM taskkit_task_plan WHERE task_id = NEW.task_id AND targets = 'finding'))
BEGIN
  SELECT RAISE(ABORT, 'taskkit: targets are only added, and only while a task finds them');
END;

CREATE TRIGGER `taskkit_guard_targets` AFTER UPDATE OF targets, targets_field, targets_total ON `taskkit_task_plan` FOR EACH ROW
  WHEN coalesce(OLD.targets, '') <> 'finding' AND (OLD.targets IS NOT NEW.targets OR OLD.targets_field IS NOT NEW.targets_field OR OLD.targets_total IS NOT NEW.targets_total)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a complete set of targets never changes');
END;

CREATE TRIGGER `taskkit_guard_ledger_update` AFTER UPDATE ON `taskkit_task_ledger` FOR EACH ROW
BEGIN
  SELECT RAISE(ABORT, 'taskkit: the ledger of a task never changes');
END;

CREATE TRIGGER `taskkit_guard_event_update` AFTER UPDATE ON `taskkit_task_event` FOR EACH ROW
BEGIN
  SELECT RAISE(ABORT, 'taskkit: the log of what operators asked is append-only');
END;

CREATE TRIGGER `taskkit_guard_event_delete` AFTER DELETE ON `taskkit_task_event` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_event_prune WHERE OLD.created_date < before_date)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: the log of what operators asked is append-only');
END;

CREATE TRIGGER `taskkit_guard_transition` AFTER UPDATE OF workflow_status, fence ON `taskkit_queued_task` FOR EACH ROW
  WHEN NOT (NEW.fence = OLD.fence AND (OLD.workflow_status = NEW.workflow_status
      OR CASE OLD.workflow_status || '>' || NEW.workflow_status WHEN 'SCHEDULING>QUEUED' THEN 1 WHEN 'SCHEDULING>ERROR' THEN 1 WHEN 'EXECUTING>QUEUED' THEN 1 WHEN 'EXECUTING>COMPLETED' THEN 1 WHEN 'EXECUTING>FAILURE' THEN 1 WHEN 'EXECUTING>ERROR' THEN 1 WHEN 'ERROR>QUEUED' THEN 1 WHEN 'FAILURE>QUEUED' THEN 1 ELSE 0 END
      OR NEW.execution_started_date IS NOT NULL AND CASE OLD.workflow_status || '>' || NEW.workflow_status WHEN 'SCHEDULING>EXECUTING' THEN 1 WHEN 'SCHEDULING>COMPLETED' THEN 1 WHEN 'SCHEDULING>FAILURE' THEN 1 ELSE 0 END
      OR NEW.partial AND OLD.workflow_status || '>' || NEW.workflow_status IN ('QUEUED>COMPLETED'))
    OR NEW.fence = OLD.fence + 1 AND OLD.workflow_status || '>' || NEW.workflow_status IN ('QUEUED>SCHEDULING'))
BEGIN
  SELECT RAISE(ABORT, 'taskkit: not a legal transition of a task');
END;

CREATE TRIGGER `taskkit_foreign_key_merged_key` AFTER INSERT ON `taskkit_merged_key` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_merged_key must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_merged_key_update` AFTER UPDATE OF task_id ON `taskkit_merged_key` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_merged_key must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_attempt` AFTER INSERT ON `taskkit_task_attempt` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_attempt must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_attempt_update` AFTER UPDATE OF task_id ON `taskkit_task_attempt` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_attempt must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_item` AFTER INSERT ON `taskkit_task_item` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_item must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_item_update` AFTER UPDATE OF task_id ON `taskkit_task_item` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_item must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_ledger` AFTER INSERT ON `taskkit_task_ledger` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_ledger must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_ledger_update` AFTER UPDATE OF task_id ON `taskkit_task_ledger` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_ledger must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_parent` AFTER INSERT ON `taskkit_task_parent` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_parent must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_parent_update` AFTER UPDATE OF task_id ON `taskkit_task_parent` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_parent must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_plan` AFTER INSERT ON `taskkit_task_plan` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_plan must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_plan_update` AFTER UPDATE OF task_id ON `taskkit_task_plan` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_plan must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_rate` AFTER INSERT ON `taskkit_task_rate` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_rate must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_rate_update` AFTER UPDATE OF task_id ON `taskkit_task_rate` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_rate must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_result` AFTER INSERT ON `taskkit_task_result` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_result must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_result_update` AFTER UPDATE OF task_id ON `taskkit_task_result` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_result must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_target` AFTER INSERT ON `taskkit_task_target` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_target must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_foreign_key_target_update` AFTER UPDATE OF task_id ON `taskkit_task_target` FOR EACH ROW
  WHEN NOT EXISTS (SELECT 1 FROM taskkit_queued_task WHERE id = NEW.task_id)
BEGIN
  SELECT RAISE(ABORT, 'taskkit: a row of taskkit_task_target must belong to a task that exists');
END;

CREATE TRIGGER `taskkit_cascade` AFTER DELETE ON `taskkit_queued_task` FOR EACH ROW
BEGIN
  DELETE FROM `taskkit_merged_key` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_attempt` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_item` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_ledger` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_parent` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_plan` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_rate` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_result` WHERE task_id = OLD.id;
  DELETE FROM `taskkit_task_target` WHERE task_id = OLD.id;
END;

-- +goose StatementEnd
