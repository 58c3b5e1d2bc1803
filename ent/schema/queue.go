package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// TaskQueue is a queue that somebody has paused once. Other queues have no row. The row says
// who paused it last, and who resumed it last; what was before is not kept.
type TaskQueue struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskQueue) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_queue"}}
}

// Fields implements [ent.Interface].
func (TaskQueue) Fields() []ent.Field {
	return []ent.Field{
		field.Text("id").StorageKey("name").Immutable().Comment("the name of the queue"),
		field.Bool("paused").Annotations(no()).Default(false),
		field.UUID("paused_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("paused_reason").Optional().Nillable(),
		field.Time("paused_date").Optional().Nillable(),
		field.UUID("resumed_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("resumed_reason").Optional().Nillable(),
		field.Time("resumed_date").Optional().Nillable(),
	}
}
