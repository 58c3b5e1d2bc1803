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

// TaskParent is what a task that has children has beside its row: for what it waits, or
// has waited last, and what it has to remember of its children. It is written only by
// the holder of the task, and by a retry.
type TaskParent struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskParent) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table:  "taskkit_task_parent",
		Checks: map[string]string{"taskkit_on_failure": "on_failure IN ('continue', 'pause', 'fail')"},
	}}
}

// Fields implements [ent.Interface].
func (TaskParent) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Int64("open_at_most").Default(0).Annotations(entsql.Default("0")).Comment("the task waits until at most so many children are open"),
		field.Text("on_failure").Default("continue").Annotations(entsql.Default("continue")).Comment("what a failed child means: continue, pause, fail"),
		field.Int64("failed_seen").Default(0).Annotations(entsql.Default("0")).Comment("failed children that have paused the task already"),
		field.Int64("fence").Default(-1).Annotations(entsql.Default("-1")).Comment("that of the task while it waits"),
		field.Int64("checkpoint_seq").Default(-1).Annotations(entsql.Default("-1")).Comment("that of the task while it waits"),
		field.Bool("waits").Default(false).Annotations(no()).Comment("it has submitted children, or waited for them, and has not ended since"),
		field.Bool("retry").Default(false).Annotations(no()).Comment("the failed children are to be retried"),
		field.JSON("ending", json.RawMessage{}).Optional().SchemaType(jsonType).Comment("how the task ends once no child is open, see store.Ending"),
		field.JSON("memo", json.RawMessage{}).Optional().SchemaType(jsonType).Comment("what it remembers of its children, see package taskkit"),
		field.JSON("sums", json.RawMessage{}).Optional().SchemaType(jsonType).Comment("its children that have ended, added up, and the ids of the others, see store.ChildSums; null: they are counted"),
	}
}

// Edges implements [ent.Interface].
func (TaskParent) Edges() []ent.Edge {
	return []ent.Edge{edge.From("task", QueuedTask.Type).Ref("family").
		Field("task_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (TaskParent) Indexes() []ent.Index {
	// What the reaper checks.
	return []ent.Index{index.Fields("task_id").StorageKey("taskkit_waiting_parent").
		Annotations(entsql.IndexWhere("waits"))}
}
