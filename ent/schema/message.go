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
			"taskkit_message_outcome": "outcome IN ('submitted', 'dropped', 'superseded', 'refused', 'redriven')",
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
		field.Text("outcome").Comment("redriven: it was refused, and is taken in anew"),
		field.Int64("body_hash").Immutable().Comment("by which another body under the same id is noticed"),
		field.UUID("task_id", uuid.UUID{}).Optional().Nillable().Comment("of one that was submitted; the task may have been removed since"),
		field.Text("code").Optional().Nillable().Comment("why it was refused, for programs"),
		field.Text("detail").Optional().Nillable().Comment("why it was refused, dropped or superseded; operators only"),
		field.Text("body").Optional().Nillable().Comment("of one that was refused: valid UTF-8, cut to a bound; operators only"),
		field.Text("headers").Optional().Nillable().Comment("of one that was refused, as JSON, with its sequence and timestamp; null: it was not kept whole"),
		field.Text("dead_letter_error").Optional().Nillable().Comment("why the broker did not take it as a dead letter; operators only"),
		field.Time("redriven_date").Optional().Nillable().Comment("when it was last given back to be taken in anew"),
		field.UUID("redriven_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("redriven_reason").Optional().Nillable(),
	}
}

// Indexes implements [ent.Interface].
func (TaskMessage) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("source", "message_id").Unique().StorageKey("taskkit_message_id"),
		// The refused ones of a source, in the order in which they were taken in.
		index.Fields("source", "id").Annotations(entsql.IndexWhere("outcome = 'refused'")).StorageKey("taskkit_message_refused"),
		// What a consumer takes in anew.
		index.Fields("source", "id").Annotations(entsql.IndexWhere("outcome = 'redriven'")).StorageKey("taskkit_message_redriven"),
		// What is old is removed, of each source after its own time.
		index.Fields("source", "created_date").StorageKey("taskkit_message_created"),
	}
}
