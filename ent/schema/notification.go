package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Notification is what deliveries of notifications remember of a recipient: that it has unsubscribed, when a mail was sent to it, and what
// waits for a digest; and which findings of the doctor a target was notified of. The notifications themselves are tasks.
type Notification struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Notification) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table:  "taskkit_notification",
		Checks: map[string]string{"taskkit_notification_state": "state IN ('unsubscribed', 'sent', 'held', 'finding')"},
	}}
}

// Fields implements [ent.Interface].
func (Notification) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.Text("target").Immutable(),
		field.Text("recipient").Immutable().Comment("a hash of the URL or the mail address; of a finding the check"),
		field.Text("kind").Immutable().Comment("of the tasks that it is about; empty: of all; of a finding its id"),
		field.Text("state").Immutable(),
		field.UUID("task_id", uuid.UUID{}).Optional().Nillable().Immutable().Comment("the task that delivers it"),
		field.JSON("notice", json.RawMessage{}).SchemaType(jsonType).Optional().Immutable(),
	}
}

// Indexes implements [ent.Interface].
func (Notification) Indexes() []ent.Index {
	return []ent.Index{index.Fields("target", "recipient", "kind", "state").StorageKey("taskkit_notification_recipient")}
}
