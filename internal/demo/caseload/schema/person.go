package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Person is a student in somebody's care.
type Person struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Person) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_person"}}
}

// Fields implements [ent.Interface].
func (Person) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable().
			Comment("UUIDv7: who comes later has a greater one, so a query can be bounded by id"),
		field.Text("school_id").Unique(),
		field.Text("first_name"),
		field.Text("last_name"),
		field.Text("name_key").Comment("\"last, first\" in lower case: both databases search it alike"),
		field.Text("email").Optional().Nillable().Comment("as somebody typed it; may be no address"),
		field.Text("coach"),
		field.Time("created_date").Immutable(),
	}
}

// Edges implements [ent.Interface].
func (Person) Edges() []ent.Edge {
	cascade := entsql.OnDelete(entsql.Cascade)
	return []ent.Edge{
		edge.To("enrolments", Enrolment.Type).Annotations(cascade),
		edge.To("watches", Watch.Type).Annotations(cascade),
		edge.To("alerts", Alert.Type).Annotations(cascade),
	}
}

// Indexes implements [ent.Interface].
func (Person) Indexes() []ent.Index {
	return []ent.Index{index.Fields("coach", "id").StorageKey("caseload_person_coach")}
}

// Program is something that people are enrolled in.
type Program struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Program) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_program"}}
}

// Fields implements [ent.Interface].
func (Program) Fields() []ent.Field {
	return []ent.Field{
		field.Text("id").Immutable().Comment("a short code"),
		field.Text("name"),
	}
}

// Enrolment is a person's place in a program. Whoever writes its status says
// for which task; the database keeps the history.
type Enrolment struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Enrolment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table:  "caseload_enrolment",
		Checks: map[string]string{"caseload_enrolment_status": "status IN ('active', 'paused', 'exited')"},
	}}
}

// Fields implements [ent.Interface].
func (Enrolment) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("person_id", uuid.UUID{}).Immutable(),
		field.Text("program_id").Immutable(),
		field.Text("status"),
		field.UUID("status_task", uuid.UUID{}).Optional().Nillable().Comment("the task that last set the status"),
	}
}

// Edges implements [ent.Interface].
func (Enrolment) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("person", Person.Type).Ref("enrolments").Field("person_id").Unique().Required().Immutable(),
		edge.To("program", Program.Type).Field("program_id").Unique().Required().Immutable(),
	}
}

// Indexes implements [ent.Interface].
func (Enrolment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("person_id", "program_id").Unique().StorageKey("caseload_enrolment_once"),
		index.Fields("program_id", "status", "person_id").StorageKey("caseload_enrolment_status"),
	}
}

// StatusChange is one line of an enrolment's history. A trigger writes it, so
// that no path to the status can leave it out.
type StatusChange struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (StatusChange) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_status_change"}}
}

// Fields implements [ent.Interface].
func (StatusChange) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("person_id", uuid.UUID{}).Immutable(),
		field.Text("program_id").Immutable(),
		field.Text("was").Immutable(),
		field.Text("now").Immutable(),
		field.UUID("task", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.Time("changed_date").Immutable(),
	}
}

// Indexes implements [ent.Interface].
func (StatusChange) Indexes() []ent.Index {
	return []ent.Index{index.Fields("person_id").StorageKey("caseload_status_change_person")}
}
