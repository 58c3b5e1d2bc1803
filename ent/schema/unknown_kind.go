package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// UnknownKind is a kind or revision of waiting tasks that no live worker knows which serves their
// queue. The row goes when a worker registers that knows it.
type UnknownKind struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (UnknownKind) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_unknown_kind"}}
}

// Fields implements [ent.Interface].
func (UnknownKind) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Text("execution_component_name").Immutable().Comment("the kind"),
		field.Int("codec_revision").SchemaType(intType).Immutable(),
		field.Text("queue").Immutable(),
		field.Int64("tasks").Comment("that were due when it was last seen, or a part of them"),
		field.Time("first_seen_date").Annotations(clock()).Comment("since when it has been unknown"),
		field.Time("last_seen_date").Annotations(clock()),
		field.Time("reported_date").Optional().Nillable().Comment("when a worker last logged it"),
	}
}

// Indexes implements [ent.Interface].
func (UnknownKind) Indexes() []ent.Index {
	return []ent.Index{index.Fields("execution_component_name", "codec_revision", "queue").Unique().StorageKey("taskkit_unknown_kind_key")}
}
