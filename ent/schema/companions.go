package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// TaskProcess is one running process of the runtime, its heartbeat and its presence
// lock. Only last_heartbeat_date changes from beat to beat, and no index holds it.
type TaskProcess struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskProcess) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_process"}}
}

// Fields implements [ent.Interface].
func (TaskProcess) Fields() []ent.Field {
	return []ent.Field{
		field.Text("id").Immutable().Comment("<system_id>-<startup-timestamp>-<random>; never reused"),
		field.Text("version").Immutable(),
		field.Time("started_date").Immutable().Annotations(clock()),
		field.Time("last_heartbeat_date").Annotations(clock()),
		field.Int64("dead_after_ms").Immutable().Comment("silence after which others may declare it dead"),
		field.JSON("kinds", map[string][]int{}).SchemaType(jsonType).Comment("kind to claimable revisions"),
		field.JSON("queues", []string{}).SchemaType(jsonType),
		field.Int("slots").Immutable(),
		field.Int("max_attempts").Default(0).Immutable().Annotations(entsql.Default("0")).Comment("how often it tries a batch without progress"),
		field.Bool("draining").Default(false).Annotations(no()),
		field.Bool("safe_mode").Default(false).Immutable().Annotations(no()).Comment("it claims nothing"),
		field.Time("ended_date").Optional().Nillable().Comment("left, or declared dead; final"),
		field.Text("ended_reason").Optional().Nillable(),
		field.Int64("presence_lock").Optional().Nillable().Comment("the lock that it holds while it runs; null: its heartbeat alone tells"),
		field.Time("absent_date").Optional().Nillable().Comment("when presence_lock was first seen to be free"),
		field.Time("reads_until_date").Optional().Nillable().Comment("until when it is the one that reads figures for monitoring"),
		field.Time("found_alive_date").Optional().Nillable().Comment("when it turned out to run although it had been declared dead"),
	}
}

// TaskItem is the outcome of one item of a task, where it is not that the item
// succeeded. A later outcome of the same item replaces an earlier one.
type TaskItem struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskItem) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table: "taskkit_task_item",
		Checks: map[string]string{
			"taskkit_outcome": "outcome IN ('failed', 'skipped', 'deferred')",
		},
	}}
}

// Fields implements [ent.Interface].
func (TaskItem) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Annotations(clock()).Comment("when the outcome was recorded"),
		field.Int64("position").Default(0).Annotations(entsql.Default("0")).Comment("in the list or the set, from 1; 0: unknown"),
		field.Int("attempt"),
		field.Text("outcome"),
		field.Text("code"),
		field.Text("item").Immutable().Comment("JSON, see internal/itemkey; as text, which is compared byte by byte"),
		field.Text("detail").Comment("operators only"),
	}
}

// Edges implements [ent.Interface].
func (TaskItem) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("items").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("task_id", "item").Unique().StorageKey("taskkit_item_key"),
		// In the order of the list or the set.
		index.Fields("task_id", "outcome", "position", "id").StorageKey("taskkit_item_outcome"),
		// What became of one item in all tasks, by time.
		index.Fields("item", "created_date", "id").StorageKey("taskkit_item_history"),
		// The failed items of all tasks, by time. By "=" a planner would expect few items, and sort all of them.
		index.Fields("created_date", "id").StorageKey("taskkit_item_failed").Annotations(entsql.IndexWhere("outcome <> 'skipped' AND outcome <> 'deferred'")),
	}
}

// TaskAttempt is one failed attempt: when, where, at which checkpoint, and why.
type TaskAttempt struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskAttempt) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_attempt"}}
}

// Fields implements [ent.Interface].
func (TaskAttempt) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.Text("process").Immutable(),
		field.Int64("fence").Immutable(),
		field.Int64("checkpoint_seq").Immutable(),
		field.Int("attempt").Immutable(),
		field.Text("class").Immutable(),
		field.Text("code").Immutable(),
		field.Text("detail").Immutable().Comment("operators only"),
	}
}

// Edges implements [ent.Interface].
func (TaskAttempt) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("failed_attempts").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskAttempt) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task_id", "id").StorageKey("taskkit_attempt_task")}
}

// TaskResult is the typed result of a task for whoever asked.
type TaskResult struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskResult) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_result"}}
}

// Fields implements [ent.Interface].
func (TaskResult) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.JSON("result", json.RawMessage{}).SchemaType(jsonType).Optional().Comment("null: it has been erased"),
		field.Int("codec_revision").Default(1).Annotations(entsql.Default("1")),
		field.Time("finished_date").Annotations(clock()),
		field.Time("fetched_date").Optional().Nillable().Comment("when it was first fetched"),
		field.Time("expiry_date").Optional().Nillable().Comment("when it may be erased; null: never"),
		field.Int64("keep_fetched_ms").Optional().Nillable().Comment("how long it is kept once it has been fetched; null: for ever"),
	}
}

// Indexes implements [ent.Interface].
func (TaskResult) Indexes() []ent.Index {
	// What the cleaner looks for. A result that is kept for ever, or has been erased, costs nothing.
	return []ent.Index{index.Fields("expiry_date").StorageKey("taskkit_result_expiry").
		Annotations(entsql.IndexWhere("expiry_date IS NOT NULL AND result IS NOT NULL"))}
}

// Edges implements [ent.Interface].
func (TaskResult) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("result").
		Field("task_id").Unique().Required().Immutable()}
}

// TaskRate is how fast a task has processed its items so far. Tasks that are done
// within seconds have none.
type TaskRate struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskRate) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_rate"}}
}

// Fields implements [ent.Interface].
func (TaskRate) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Text("execution_component_name").Immutable().Comment("the kind; empty for a preview, which says nothing about other tasks"),
		field.Time("measured_date").Annotations(clock()).Comment("of the checkpoint that wrote it last"),
		field.JSON("history", json.RawMessage{}).SchemaType(jsonType).Comment("see internal/workrate"),
	}
}

// Edges implements [ent.Interface].
func (TaskRate) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("rate").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskRate) Indexes() []ent.Index {
	// The newest tasks of a kind.
	return []ent.Index{index.Fields("execution_component_name", "task_id").StorageKey("taskkit_rate_kind")}
}

// MergedKey is an idempotency key of a submission that was coalesced into a
// waiting task with another one.
type MergedKey struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (MergedKey) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_merged_key"}}
}

// Fields implements [ent.Interface].
func (MergedKey) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Text("execution_component_name").Immutable().Comment("the kind"),
		field.Text("idempotency_key").Immutable(),
	}
}

// Edges implements [ent.Interface].
func (MergedKey) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("merged_keys").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (MergedKey) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("execution_component_name", "idempotency_key").Unique().StorageKey("taskkit_merged_key_key"),
		index.Fields("task_id").StorageKey("taskkit_merged_key_task"),
	}
}

// EventPrune lets events go. The log of what operators asked is append-only,
// except for a transaction that has inserted a row here: it may delete the events
// that are older. The cleaner removes its row before it commits.
type EventPrune struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (EventPrune) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_event_prune"}}
}

// Fields implements [ent.Interface].
func (EventPrune) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Time("before_date").Immutable().Comment("events created earlier may be deleted"),
	}
}

// TaskEvent is one action of an operator, on a task or, with the zero id of a task, on a setting: a queue, a limit
// or a schedule. The log is append-only for everybody but the cleaner (see EventPrune) and outlives the task.
type TaskEvent struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_event"}}
}

// Fields implements [ent.Interface].
func (TaskEvent) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.Text("action").Immutable(),
		field.UUID("actor", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.Text("reason").Optional().Nillable().Immutable(),
		field.Text("was").Immutable().Comment("the status, or the value of the setting, that the action met"),
		field.Text("setting").Optional().Nillable().Immutable().Comment("queue, limit or schedule"),
		field.Text("name").Optional().Nillable().Immutable().Comment("of the setting, or of the worker that was lost"),
		field.Text("became").Optional().Nillable().Immutable().Comment("the value of the setting afterwards"),
	}
}

// Indexes implements [ent.Interface].
func (TaskEvent) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task_id", "id").StorageKey("taskkit_event_task")}
}
