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

// TaskPlan is what a task has beside its row, if it has more than a spec. It also
// holds the spec, whose column in the task's row is then null: so a claim tells
// such a task from another without a column more.
type TaskPlan struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskPlan) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_plan"}}
}

// Fields implements [ent.Interface].
func (TaskPlan) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.Text("targets").Optional().Nillable().Comment("where they are: frozen, in taskkit_task_target; finding: there, and there will be more; null: nowhere but in the spec"),
		field.Text("targets_field").Optional().Nillable().Comment("the list of the spec that they stand for, in the revision of the spec"),
		field.Int64("targets_total").Optional().Nillable().Comment("how many there are, or how many the task has found so far"),
		field.JSON("spec", json.RawMessage{}).Optional().Immutable().SchemaType(jsonType).Comment("null: in the row of the task"),
		field.JSON("options", json.RawMessage{}).Optional().SchemaType(jsonType).Comment("what the task was submitted with besides, see store.Options"),
		field.Time("expiry_date").Optional().Nillable().Comment("when the cleaner reads the task, whose options may end or remove it by then; null: never"),
		field.JSON("report", json.RawMessage{}).Optional().SchemaType(jsonType).Comment("what a preview has found so far, see store.Report"),
	}
}

// Edges implements [ent.Interface].
func (TaskPlan) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("plan").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskPlan) Indexes() []ent.Index {
	// What the cleaner looks for. A plan without such options costs nothing.
	return []ent.Index{index.Fields("expiry_date").StorageKey("taskkit_plan_expiry").
		Annotations(entsql.IndexWhere("expiry_date IS NOT NULL"))}
}

// TaskTarget is a page of the frozen targets of a task. Every page but the last has
// the same number of keys, so that a target is found by its position.
type TaskTarget struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskTarget) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_target"}}
}

// Fields implements [ent.Interface].
func (TaskTarget) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Int("page").SchemaType(intType).Immutable().Comment("from 0"),
		field.Text("keys").Comment("a JSON array; more are added while the task finds its targets"),
	}
}

// Edges implements [ent.Interface].
func (TaskTarget) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("targets").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskTarget) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task_id", "page").Unique().StorageKey("taskkit_target_page")}
}

// TaskLedger is the items that succeeded in one batch of a task, of a kind that has the
// word ledger in its directive.
type TaskLedger struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskLedger) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_ledger"}}
}

// Fields implements [ent.Interface].
func (TaskLedger) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.Int64("batch").Immutable().Comment("the checkpoint_seq that the batch began with, from 0"),
		field.Int64("items").Immutable().Comment("how many"),
		field.Bytes("keys").Immutable().Comment("a JSON array, compressed: see store.EncodeLedger"),
	}
}

// Edges implements [ent.Interface].
func (TaskLedger) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("ledger").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskLedger) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task_id", "batch").Unique().StorageKey("taskkit_ledger_batch")}
}
