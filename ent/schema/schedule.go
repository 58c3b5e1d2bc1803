package schema

import (
	"encoding/json"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Schedule submits a task of a kind again and again, at the wall times of a cron
// expression. Whoever changes a row names the version that it has read, so that a fire and a
// change at the same time do not both take effect.
type Schedule struct{ ent.Schema }

// Annotations implements [ent.Interface].
func (Schedule) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table: "taskkit_schedule",
		Checks: map[string]string{
			"taskkit_schedule_misfire":  "misfire IN ('once', 'all', 'forget')",
			"taskkit_schedule_overlap":  "overlap IN ('skip', 'buffer', 'allow')",
			"taskkit_schedule_priority": "priority BETWEEN 1 AND 4",
			"taskkit_schedule_next":     "((next_date IS NULL) = (next_wall IS NULL))",
		},
	}}
}

// Fields implements [ent.Interface].
func (Schedule) Fields() []ent.Field {
	return slices.Concat([]ent.Field{field.UUID("id", uuid.UUID{}).Immutable()}, auditFields(), []ent.Field{
		modifiedField(),
		field.Int64("version").Default(1).Annotations(entsql.Default("1")).Comment("every change adds one"),
		field.Text("name").Immutable(),
		field.Text("execution_component_name").Comment("the kind of its tasks"),
		field.JSON("execution_spec", json.RawMessage{}).SchemaType(jsonType),
		field.Int("codec_revision").SchemaType(intType).Comment("of the spec"),
		field.Text("secrets").Optional().Nillable().Comment("pointers to what must not be shown, one a line; null: not known yet"),
		field.Text("cron"),
		field.Text("time_zone").Comment("a name of the IANA database; empty: UTC"),
		field.Text("queue").Comment("empty: that of the kind"),
		field.Int16("priority").Default(2).Annotations(entsql.Default("2")),
		field.UUID("owner_id", uuid.UUID{}),
		field.UUID("run_as_id", uuid.UUID{}),
		field.Text("misfire"),
		field.Text("overlap").Comment("what becomes of a fire while the last task has not ended"),
		field.Text("task_options").Optional().Nillable().Comment("of its tasks, as JSON"),
		field.Bool("paused").Default(false).Annotations(no()),
		field.UUID("paused_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("paused_reason").Optional().Nillable(),
		field.Time("next_date").Optional().Nillable().Comment("the instant of the next fire; null: never"),
		field.Text("next_wall").Optional().Nillable().Comment("the wall time that it stands for"),
		field.Text("overdue").Optional().Nillable().Comment("fires by earlier expressions and zones that were due when these changed, as JSON"),
		field.Text("buffered_wall").Optional().Nillable().Comment("a wall time whose task waits for the end of the last one"),
		field.Time("due_date").Optional().Nillable().Comment("when a worker has something to do: at the next fire unless it is paused, or at once after a trigger"),
		field.Bool("triggered").Default(false).Annotations(no()).Comment("a task is to be submitted at once"),
		field.UUID("triggered_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("trigger_reason").Optional().Nillable(),
		field.Time("last_date").Optional().Nillable().Comment("when it last submitted something"),
		field.Text("last_wall").Optional().Nillable().Comment("for which wall time; null: it was triggered"),
		field.UUID("last_task_id", uuid.UUID{}).Optional().Nillable().Comment("the task may have been removed since"),
		field.Text("last_error").Optional().Nillable().Comment("why the last fire failed; operators only"),
		field.Time("last_error_date").Optional().Nillable(),
		field.Text("replaced").Optional().Nillable().Comment("a hash of the definition before the last change"),
		field.Int("alternations").Default(0).Annotations(entsql.Default("0")).SchemaType(intType).Comment("how often in a row the definition was set back to the one before"),
	})
}

// Indexes implements [ent.Interface].
func (Schedule) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("name").Unique().StorageKey("taskkit_schedule_name"),
		// What workers read every few seconds.
		index.Fields("due_date").Annotations(entsql.IndexWhere("due_date IS NOT NULL")).StorageKey("taskkit_schedule_due"),
	}
}
