package schema

import (
	"encoding/json"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// jsonType keeps JSON as it was written: PostgreSQL's jsonb reorders and
// rewrites numbers, and SQLite gives a column of type json the affinity of a
// number, so that 18446744073709551615 would become a rounded float.
var jsonType = map[string]string{dialect.Postgres: "json", dialect.SQLite: "text"}

// textType and intType are text and a number of four bytes where ent would have
// another type.
var (
	textType = map[string]string{dialect.Postgres: "text"}
	intType  = map[string]string{dialect.Postgres: "integer"}
)

// QueuedTask is one submitted run of a kind.
type QueuedTask struct{ ent.Schema }

// Annotations implements [ent.Interface]. The checks say what must hold in
// every row, whoever writes it. On SQLite they are CHECKs, on PostgreSQL
// internal/cmd/schemaplan makes triggers of them. They are short: PostgreSQL reads
// them anew for each statement that sets one of their columns.
func (QueuedTask) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{
		Table: "taskkit_queued_task",
		Checks: map[string]string{
			"taskkit_status":   "workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING', 'COMPLETED', 'ERROR', 'FAILURE')",
			"taskkit_control":  "control IN ('', 'STOP', 'PAUSE', 'DELETE')",
			"taskkit_held":     "((scheduled_by_process IS NOT NULL) = (workflow_status IN ('SCHEDULING', 'EXECUTING')))",
			"taskkit_started":  "workflow_status <> 'EXECUTING' OR execution_started_date IS NOT NULL",
			"taskkit_stopped":  "((workflow_stopped_date IS NOT NULL) = (workflow_status IN ('COMPLETED', 'ERROR', 'FAILURE')))",
			"taskkit_priority": "priority BETWEEN 1 AND 4",
			// One number is negative when the bits of all together are.
			"taskkit_counts": "(fence | checkpoint_seq | attempts | position | round | items_done | items_failed | items_skipped) >= 0",
		},
	}}
}

// Fields implements [ent.Interface].
//
// The order is the table's, and is paid for on every transition. What never
// changes stands at both ends and what changes in the middle: PostgreSQL logs of
// a new version on the same page only what lies between the first and the last
// difference. And what has a fixed width and is never null comes first, where a
// column is found without reading those before it.
func (QueuedTask) Fields() []ent.Field {
	return slices.Concat(fixedFields(), progressFields(), holdFields(), noteFields(), askedFields())
}

// fixedFields are whose task it is and since when.
func fixedFields() []ent.Field {
	return append([]ent.Field{
		field.UUID("id", uuid.UUID{}).Immutable(),
		field.UUID("owner_id", uuid.UUID{}).Immutable(),
		field.UUID("run_as_id", uuid.UUID{}).Immutable(),
	}, auditFields()...)
}

// count is a number that begins at 0.
func count(name string) ent.Field {
	return field.Int64(name).Default(0).Annotations(entsql.Default("0"))
}

// progressFields are what a checkpoint changes and a claim does not.
func progressFields() []ent.Field {
	return []ent.Field{
		field.Time("not_before").Annotations(clock()),
		count("position"),
		count("items_done"),
		count("items_failed"),
		count("items_skipped"),
		count("checkpoint_seq"),
	}
}

// holdFields are what every claim and every end changes.
func holdFields() []ent.Field {
	return []ent.Field{
		modifiedField(),
		count("fence"),
		field.Int("codec_revision").SchemaType(intType).Default(1).Annotations(entsql.Default("1")).
			Comment("of the state, and of the spec unless spec_revision says otherwise"),
		field.Int("attempts").SchemaType(intType).Default(0).Annotations(entsql.Default("0")),
		field.Int("round").SchemaType(intType).Default(0).Annotations(entsql.Default("0")).
			Comment("0 over the whole list, later over the deferred items"),
		field.Int16("priority").Default(2).Annotations(entsql.Default("2")).
			Comment("1 (first) to 4 (last)"),
		field.Bool("stalled").Default(false).Annotations(no()).
			Comment("taken from a dead worker; claimed before new tasks (SSP-40)"),
		field.Bool("partial").Default(false).Annotations(no()).
			Comment("ended by a stop, before it was done"),
		field.Bool("deferred").Default(false).Annotations(no()).
			Comment("an item of this round was deferred"),
		field.Enum("workflow_status").GoType(lifecycle.Queued).SchemaType(textType).
			Default(string(lifecycle.Queued)).Annotations(entsql.Default(string(lifecycle.Queued))),
		field.Text("control").GoType(lifecycle.None).
			Default(string(lifecycle.None)).Annotations(entsql.Default("")),
		field.Text("scheduled_by_process").Optional().Nillable(),
		field.Time("scheduling_started_date").Optional().Nillable(),
		field.Time("execution_started_date").Optional().Nillable().Comment("of the last lease (SSP-17)"),
		field.Time("first_started_date").Optional().Nillable().Comment("of the first lease, once there is another; a coalesced submission clears it"),
		field.Time("workflow_stopped_date").Optional().Nillable(),
		field.JSON("execution_state", json.RawMessage{}).SchemaType(jsonType).
			Annotations(entsql.Default("{}")),
	}
}

// noteFields change seldom.
func noteFields() []ent.Field {
	return []ent.Field{
		field.Text("workflow_status_desc").Optional().Nillable(),
		field.Text("waiting_reason").Optional().Nillable().Comment("why it waits (CER-11); null unless it is QUEUED"),
		field.Text("reason").Optional().Nillable().Comment("why it was submitted"),
		field.Int64("items_total").Optional().Nillable().Comment("null while unknown"),
		field.Int("spec_revision").SchemaType(intType).Optional().Nillable().
			Comment("of the spec, once a checkpoint has had another, or the task was given options after its submission; while it is set, claims leave out the spec, and the session reads the plan"),
		field.Text("secrets").Optional().Nillable().
			Comment("pointers to what must not be shown of spec and state, one a line"),
		field.UUID("control_by", uuid.UUID{}).Optional().Nillable(),
		field.Text("control_reason").Optional().Nillable(),
	}
}

// askedFields are what was asked.
func askedFields() []ent.Field {
	return []ent.Field{
		field.Text("execution_component_name").Immutable().Comment("the kind"),
		field.Text("queue").Immutable().Default("default").Annotations(entsql.Default("default")),
		field.JSON("execution_spec", json.RawMessage{}).Optional().SchemaType(jsonType),
		field.Text("reference").Optional().Nillable().Immutable(),
		field.Bool("delayed").Default(false).Immutable().Annotations(no()).
			Comment("submitted for later; coalesced only with others of those (CER-13)"),
		field.Int64("reference_version").Optional().Nillable().Comment("of the spec: a later one of the reference is greater; null: it has none"),
		field.Text("unique_key").Optional().Nillable().Immutable(),
		field.Text("idempotency_key").Optional().Nillable().Immutable(),
		field.UUID("parent_id", uuid.UUID{}).Optional().Nillable().Immutable().Comment("the task of which it is a child"),
		field.UUID("follows_id", uuid.UUID{}).Optional().Nillable().Immutable().Comment("the task that it retries, continues or applies, or was submitted to follow"),
		field.Text("traceparent").Optional().Nillable().
			Comment("the contexts of spans that its traces are linked to; null: no trace of its submission is sampled"),
		field.Text("targets_field").Optional().Nillable().Comment("the list of targets in the spec, if the kind has one"),
		field.Int64("keep_ms").Optional().Nillable().Immutable().Comment("how long it is kept after its end; null: as long as its kind"),
	}
}

// Edges implements [ent.Interface]. What belongs to a task goes with it.
func (QueuedTask) Edges() []ent.Edge {
	cascade := entsql.OnDelete(entsql.Cascade)
	return []ent.Edge{
		edge.To("items", TaskItem.Type).Annotations(cascade),
		edge.To("failed_attempts", TaskAttempt.Type).Annotations(cascade),
		edge.To("result", TaskResult.Type).Unique().Annotations(cascade),
		edge.To("rate", TaskRate.Type).Unique().Annotations(cascade),
		edge.To("merged_keys", MergedKey.Type).Annotations(cascade),
		edge.To("plan", TaskPlan.Type).Unique().Annotations(cascade),
		edge.To("family", TaskParent.Type).Unique().Annotations(cascade),
		edge.To("targets", TaskTarget.Type).Annotations(cascade),
		edge.To("ledger", TaskLedger.Type).Annotations(cascade),
	}
}

// Indexes implements [ent.Interface]. They are few and partial: each is paid
// for on every transition of the rows that it holds. A finished task without
// keys and a reference is in the owner's list and in taskkit_ended only, and a
// failed one in taskkit_dead too. No heartbeat and no checkpoint touches one.
func (QueuedTask) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("queue", "execution_component_name", "codec_revision", "stalled", "priority", "not_before", "id").
			StorageKey("taskkit_claim").
			Annotations(entsql.IndexWhere("workflow_status = 'QUEUED' AND control <> 'PAUSE'")),
		// Not by their process: a reader reads all of them, and a time is shorter.
		index.Fields("created_date").
			StorageKey("taskkit_in_flight").
			Annotations(entsql.IndexWhere("workflow_status IN ('SCHEDULING', 'EXECUTING')")),
		index.Fields("control", "id").
			StorageKey("taskkit_requested").
			Annotations(entsql.IndexWhere("control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')")),
		// Paused tasks, whether a worker has them or not. The migration has an expression instead of the first column. What it
		// reads of a task changes only with control, which is in the conditions above. See ADR 15.
		index.Fields("control_reason", "id").
			StorageKey("taskkit_paused").
			Annotations(entsql.IndexWhere(lifecycle.IsPaused(""))),
		// Not those in flight: the version of a task that claims it is in the index
		// above and need not be in this. Nor children: a list has none unless it is asked for them, and would
		// read through all of a task to find the next.
		index.Fields("owner_id", "id").
			StorageKey("taskkit_owner").
			Annotations(entsql.IndexWhere("workflow_status NOT IN ('SCHEDULING', 'EXECUTING') AND parent_id IS NULL")),
		// The cleaner's: what has ended for longest, by kind, of the tasks that are kept as long as their kind. It has
		// no id, so that the end of a task writes less. The status is not in its condition, or a planner would take the index for
		// other tasks that have failed.
		index.Fields("execution_component_name", "workflow_stopped_date").
			StorageKey("taskkit_ended").
			Annotations(entsql.IndexWhere("workflow_stopped_date IS NOT NULL AND keep_ms IS NULL")),
		index.Fields("execution_component_name", "unique_key").Unique().
			StorageKey("taskkit_unique_key").
			Annotations(entsql.IndexWhere("unique_key IS NOT NULL AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')")),
		index.Fields("execution_component_name", "idempotency_key").Unique().
			StorageKey("taskkit_idempotency_key").
			Annotations(entsql.IndexWhere("idempotency_key IS NOT NULL")),
		// All that a submission with the reference may be merged into. Those that were never
		// claimed are unique: one that comes back to the queue may find that another was
		// submitted meanwhile. So the migration has, instead of delayed, an expression that
		// is NULL for those that were claimed. See ADR 15.
		index.Fields("execution_component_name", "reference", "delayed").Unique().
			StorageKey("taskkit_reference").
			Annotations(entsql.IndexWhere("reference IS NOT NULL AND workflow_status = 'QUEUED'")),
		// For lists. The migration has an expression instead of the first column: a statement about
		// waiting tasks would else take them for the unique indexes above, and read all that have ended.
		index.Fields("reference", "id").
			StorageKey("taskkit_listed_reference").
			Annotations(entsql.IndexWhere("reference || '' IS NOT NULL")),
		index.Fields("unique_key", "id").
			StorageKey("taskkit_listed_key").
			Annotations(entsql.IndexWhere("unique_key || '' IS NOT NULL")),
		index.Fields("execution_component_name", "id").
			StorageKey("taskkit_dead").
			Annotations(entsql.IndexWhere(lifecycle.DeadKey("") + " IS NOT NULL")),
		// These three hold only tasks that have a parent, or follow another.
		index.Fields("parent_id", "id").
			StorageKey("taskkit_child").
			Annotations(entsql.IndexWhere("parent_id IS NOT NULL")),
		// One for open and for failed children: each more has a condition that every INSERT pays
		// for. See ADR 15.
		index.Fields("parent_id", "workflow_status").
			StorageKey("taskkit_child_status").
			Annotations(entsql.IndexWhere("parent_id IS NOT NULL AND workflow_status <> ''")),
		index.Fields("follows_id", "id").
			StorageKey("taskkit_follows").
			Annotations(entsql.IndexWhere("follows_id IS NOT NULL")),
	}
}
