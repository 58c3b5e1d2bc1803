package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// ReferenceVersion is the newest version of a reference of a kind. A submission with a version locks the row first.
type ReferenceVersion struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (ReferenceVersion) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "taskkit_reference_version"}}
}

// Fields implements [ent.Interface].
func (ReferenceVersion) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Text("execution_component_name").Immutable().Comment("the kind"),
		field.Text("reference").Immutable(),
		field.Int64("version").Optional().Nillable().Comment("null: no submission has been stored yet"),
		field.Bool("unused").Annotations(no()).Comment("no task with a version of the reference was left at checked_date"),
		field.Time("checked_date").Annotations(clock()).Comment("when the version was stored, or its tasks were looked for since"),
	}
}

// Indexes implements [ent.Interface].
func (ReferenceVersion) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("execution_component_name", "reference").Unique().StorageKey("taskkit_reference_version_key"),
		// What the cleaner looks for.
		index.Fields("execution_component_name", "unused", "checked_date").StorageKey("taskkit_reference_version_date"),
	}
}
