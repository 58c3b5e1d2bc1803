package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// now is the time of a new row.
func now() time.Time { return time.Now().UTC() }

// Watch says that somebody watches a person. It stays, ended, when they stop.
type Watch struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Watch) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_watch"}}
}

// Fields implements [ent.Interface].
func (Watch) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("watcher", uuid.UUID{}).Immutable(),
		field.UUID("person_id", uuid.UUID{}).Immutable(),
		field.Bool("active"),
		field.UUID("task", uuid.UUID{}).Comment("the task that last set it"),
	}
}

// Edges implements [ent.Interface].
func (Watch) Edges() []ent.Edge {
	return []ent.Edge{edge.From("person", Person.Type).Ref("watches").
		Field("person_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (Watch) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("watcher", "person_id").Unique().StorageKey("caseload_watch_once"),
		index.Fields("person_id").StorageKey("caseload_watch_person"),
	}
}

// Alert is an early alert: somebody worries about a person. A person can have
// any number of them, so nothing here would hide one that was raised twice.
type Alert struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Alert) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_alert"}}
}

// Fields implements [ent.Interface].
func (Alert) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("person_id", uuid.UUID{}).Immutable(),
		field.UUID("task", uuid.UUID{}).Immutable(),
		field.UUID("raised_by", uuid.UUID{}).Immutable(),
		field.Text("category").Immutable(),
		field.Text("reason").Immutable(),
		field.Text("coach").Immutable().Comment("whose turn it is, as of the alert"),
		field.Time("created_date").Immutable().Default(now),
	}
}

// Edges implements [ent.Interface].
func (Alert) Edges() []ent.Edge {
	return []ent.Edge{edge.From("person", Person.Type).Ref("alerts").
		Field("person_id").Unique().Required().Immutable()}
}

// Indexes implements [ent.Interface].
func (Alert) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("person_id", "task").StorageKey("caseload_alert_person"),
	}
}

// Letter is one line of the outbox: what became of a mail to a person.
type Letter struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Letter) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_outbox"}}
}

// Fields implements [ent.Interface].
func (Letter) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("person_id", uuid.UUID{}).Immutable(),
		field.UUID("task", uuid.UUID{}).Immutable(),
		field.Text("address").Immutable(),
		field.Text("message_id").Immutable(),
		field.Text("refused").Immutable().Default("").Comment("why it was not sent; empty when it was"),
		field.Time("sent_date").Immutable().Default(now),
	}
}

// Indexes implements [ent.Interface].
func (Letter) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task", "person_id").Unique().StorageKey("caseload_outbox_once")}
}

// ExportPart is one part of a file that is being exported. Writing a part again
// replaces it.
type ExportPart struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (ExportPart) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_export_part"}}
}

// Fields implements [ent.Interface].
func (ExportPart) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("task", uuid.UUID{}).Immutable(),
		field.UUID("first", uuid.UUID{}).Immutable().Comment("orders the parts, before part"),
		field.Int("part").Immutable().Comment("from 1"),
		field.Int("rows"),
		field.Bytes("data").Comment("CSV without a header"),
	}
}

// Indexes implements [ent.Interface].
func (ExportPart) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task", "first", "part").Unique().StorageKey("caseload_export_part_once")}
}

// Upload is a file that somebody has uploaded, for a task to read.
type Upload struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Upload) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_upload"}}
}

// Fields implements [ent.Interface].
func (Upload) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable().Default(newID),
		field.Text("name").Immutable(),
		field.Bytes("data").Immutable(),
		field.Time("created_date").Immutable().Default(now),
	}
}

// newID returns the id of a new row.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// RegistrarRow is one line of a registrar's file while it is compared with the enrolments.
type RegistrarRow struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (RegistrarRow) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_registrar_row"}}
}

// Fields implements [ent.Interface].
func (RegistrarRow) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("run", uuid.UUID{}).Immutable().Comment("the task that compares the file"),
		field.Int("line").Immutable().Comment("in the file"),
		field.Text("student").Immutable().Comment("the school id, or the id of the person"),
		field.Text("program_id").Immutable(),
		field.Text("status").Immutable(),
		field.Text("since").Immutable().Comment("a date as 2006-01-02"),
		field.Text("outcome").Comment("what became of the line"),
	}
}

// Indexes implements [ent.Interface].
func (RegistrarRow) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("run", "line").Unique().StorageKey("caseload_registrar_row_once"),
		index.Fields("run", "student").StorageKey("caseload_registrar_row_student"),
	}
}

// Touch is one line of the ledger: a row of the domain was written for a task.
// Only triggers write it. It has no unique constraint and refers to nothing, so
// that it can show what should not have happened.
type Touch struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Touch) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "caseload_touch"}}
}

// Fields implements [ent.Interface].
func (Touch) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("task", uuid.UUID{}).Immutable(),
		field.UUID("person", uuid.UUID{}).Immutable(),
		field.Text("action").Immutable(),
		field.Text("worker").Optional().Nillable().Immutable().
			Comment("PostgreSQL: application name and backend; SQLite cannot tell"),
		field.Int64("batch").Optional().Nillable().Immutable().
			Comment("PostgreSQL: the transaction, one for each batch; SQLite cannot tell"),
		field.Time("at").Immutable(),
	}
}

// Indexes implements [ent.Interface].
func (Touch) Indexes() []ent.Index {
	return []ent.Index{index.Fields("task", "person").StorageKey("caseload_touch_task")}
}
