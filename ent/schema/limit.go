package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Limit is a key of which a number of tasks execute at once at most. A transaction that grants its permits
// locks the row. An unused row is removed.
type Limit struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Limit) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table:  "taskkit_limit",
		Checks: map[string]string{"taskkit_limit_at_most": "at_most IS NULL OR at_most >= 1"},
	}}
}

// Fields implements [ent.Interface].
func (Limit) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Text("limit_key").Immutable(),
		field.Int("at_most").SchemaType(intType).Optional().Nillable().Comment("set by an operator; null: what the task says"),
		field.Time("modified_date").Annotations(clock()),
		field.UUID("modified_by", uuid.UUID{}).Optional().Nillable().Comment("who has set at_most"),
	}
}

// Indexes implements [ent.Interface].
func (Limit) Indexes() []ent.Index {
	return []ent.Index{index.Fields("limit_key").Unique().StorageKey("taskkit_limit_key")}
}

// TaskLimit is a task that has a permit of a limit, or waits for one. It has the permit while the task is
// in flight with this fence. It has no foreign key, which each submission of other tasks would pay for.
type TaskLimit struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskLimit) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_task_limit"}}
}

// Fields implements [ent.Interface].
func (TaskLimit) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("task_id", uuid.UUID{}).Immutable(),
		field.Text("limit_key").Immutable(),
		field.Int64("fence").Comment("that of the task when it was given the place, or refused"),
		field.Int("at_most").SchemaType(intType).Comment("what the task says"),
		field.Bool("waiting").Comment("it was refused"),
	}
}

// Indexes implements [ent.Interface].
func (TaskLimit) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("task_id", "limit_key").Unique().StorageKey("taskkit_task_limit_task"),
		index.Fields("limit_key", "task_id").StorageKey("taskkit_limit_waiting").Annotations(entsql.IndexWhere("waiting")),
		index.Fields("limit_key", "task_id").StorageKey("taskkit_limit_holder").Annotations(entsql.IndexWhere("NOT waiting")),
	}
}
