package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// TaskMessage is a message of a broker that has been taken in, and what became of it. A
// message is acknowledged only after its row is committed, together with its task; one that is
// delivered again is recognised by its row. Only package intake uses it.
type TaskMessage struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (TaskMessage) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table: "taskkit_task_message",
		Checks: map[string]string{
			"taskkit_message_outcome": "outcome IN ('submitted', 'dropped', 'refused')",
		},
	}}
}

// Fields implements [ent.Interface].
func (TaskMessage) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Text("source").Immutable().Comment("the name of the source in its consumer"),
		field.Text("message_id").Immutable().Comment("unique within the source; of a message without a usable id a hash"),
		field.Time("created_date").Immutable().Annotations(clock()).Comment("when it was taken in"),
		field.Text("outcome").Immutable(),
		field.UUID("task_id", uuid.UUID{}).Optional().Nillable().Immutable().Comment("of one that was submitted; the task may have been removed since"),
		field.Text("code").Optional().Nillable().Immutable().Comment("why it was refused, for programs"),
		field.Text("detail").Optional().Nillable().Immutable().Comment("why it was refused or dropped; operators only"),
		field.Text("body").Optional().Nillable().Immutable().Comment("of one that was refused: valid UTF-8, cut to a bound; operators only"),
	}
}

// Indexes implements [ent.Interface].
func (TaskMessage) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("source", "message_id").Unique().StorageKey("taskkit_message_id"),
		// The refused ones of a source, in the order in which they were taken in.
		index.Fields("source", "id").Annotations(entsql.IndexWhere("outcome = 'refused'")).StorageKey("taskkit_message_refused"),
		// What is old is removed, of each source after its own time.
		index.Fields("source", "created_date").StorageKey("taskkit_message_created"),
	}
}
