package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/sqlrows"
)

// Submitted are the columns of a task that its submission sets and no worker changes. A new task, a stored one and the
// double in memory all have them, and [taskColumns] has a line for each, so a field that is added to both is lost nowhere.
type Submitted struct {
	Kind           string    `json:",omitzero"`
	Owner, RunAs   uuid.UUID `json:",omitzero"`
	Queue          string    `json:",omitzero"`
	Reference      string    `json:",omitzero"` // of a new task: a waiting task of the same reference is replaced
	Reason         string    `json:",omitzero"` // why it was submitted
	UniqueKey      string    `json:",omitzero"`
	IdempotencyKey string    `json:",omitzero"`
	Parent         uuid.UUID `json:",omitzero"`
	Follows        uuid.UUID `json:",omitzero"` // the task that it is made from, or was submitted to follow
	Traceparent    string    `json:",omitzero"`
	TargetsField   string    `json:",omitzero"` // the list of targets in the spec; "": the kind had none
	Version        *int64    `json:",omitzero"` // of the reference, not negative; nil: none
}

// taskColumn is a value of a new task and the columns that take it: Name lists
// them.
type taskColumn struct {
	sqlrows.Column[NewTask]
	count int // of the columns, 0 for 1
	// expr makes the SQL of a value that is more than its parameter.
	expr func(pg, lite string) string
	// merge is the SQL that the columns of a waiting task are set to by a submission that is merged into it; {x} is the
	// parameter of column x. "": the submission's value.
	merge string
	// read returns where a reader scans the column. Nil: it is no field of Submitted.
	read func(s *Submitted) any
}

// kept is the merge of a column that the waiting task keeps.
const kept = "kept"

// taskColumns are all columns of a new task. The INSERT, the merge into a waiting task and the readers are made of them.
// Where no task has a value the INSERT leaves the column out.
var taskColumns = []*taskColumn{
	{Column: idColumn("id", func(t *NewTask) uuid.UUID { return t.ID }), merge: kept},
	{Column: idColumn(ownerColumns, func(t *NewTask) uuid.UUID { return t.Owner }), count: 3, merge: kept, read: func(s *Submitted) any { return &s.Owner }},
	{Column: idColumn("run_as_id", func(t *NewTask) uuid.UUID { return t.RunAs }), merge: kept, read: func(s *Submitted) any { return &s.RunAs }},
	{Column: sqlrows.Text(kindColumn, func(t *NewTask) string { return t.Kind }), merge: kept, read: func(s *Submitted) any { return &s.Kind }},
	{Column: sqlrows.Text("execution_spec", (*NewTask).ownSpec).As("json").OrNull()},
	{Column: sqlrows.Number("codec_revision", func(t *NewTask) int64 { return int64(t.Revision) })},
	{Column: sqlrows.Text("secrets", func(t *NewTask) string { return t.Secrets }).OrNull()},
	{Column: sqlrows.Text("not_before", (*NewTask).due).OrNull(), expr: dueSQL, merge: mergedDue()},
	{Column: sqlrows.Text("queue", func(t *NewTask) string { return t.Queue }), merge: kept, read: func(s *Submitted) any { return &s.Queue }},
	{
		Column: sqlrows.Number("priority", func(t *NewTask) int64 { return int64(t.Priority) }).As("smallint"),
		merge:  dialect.Either("LEAST(priority, {priority}::smallint)", "min(priority, {priority})"),
	},
	optionalText("reference", func(s *Submitted) *string { return &s.Reference }).merged(kept),
	{
		Column: sqlrows.Text("reason", func(t *NewTask) string { return classify.Clean(t.Reason) }).OrNull(),
		read:   func(s *Submitted) any { return sqlrows.OptionalText(&s.Reason) },
	},
	optionalText("unique_key", func(s *Submitted) *string { return &s.UniqueKey }).merged("coalesce(unique_key, {unique_key})"),
	optionalText(idempotencyColumn, func(s *Submitted) *string { return &s.IdempotencyKey }).merged(kept),
	{Column: sqlrows.Number("items_total", func(t *NewTask) int64 { return t.Total }).OrNull()},
	optionalID("parent_id", func(s *Submitted) *uuid.UUID { return &s.Parent }).merged(kept),
	optionalID("follows_id", func(s *Submitted) *uuid.UUID { return &s.Follows }),
	optionalText("traceparent", func(s *Submitted) *string { return &s.Traceparent }),
	optionalText("targets_field", func(s *Submitted) *string { return &s.TargetsField }),
	{Column: sqlrows.Text("execution_state", func(t *NewTask) string { return string(t.Start.State) }).As("json").OrNull(), merge: "'{}'"},
	{
		// A task with a version or a trace has one in any case: a worker then reads its plan, and with it the version and the trace. So claims
		// have no column for them.
		Column: sqlrows.Number("spec_revision", (*NewTask).specRevision).OrNull(),
		merge:  "CASE WHEN spec_revision IS NOT NULL OR " + versionGiven + " THEN CAST({codec_revision} AS integer) END",
	},
	{Column: sqlrows.Number("position", func(t *NewTask) int64 { return t.Start.position() }).OrNull(), merge: "0"},
	actorColumn,
	{Column: sqlrows.Text("control", (*NewTask).control).OrNull(), merge: kept},
	{Column: sqlrows.Text("control_reason", (*NewTask).controlReason).OrNull(), merge: kept},
	{Column: sqlrows.Text("delayed", (*NewTask).delayed).OrNull(), expr: delayedSQL, merge: kept},
	{Column: sqlrows.Number("keep_ms", (*NewTask).keep).OrNull(), merge: kept},
	{
		Column: sqlrows.Number("reference_version", (*NewTask).version).OrNull(), merge: "CAST({reference_version} AS bigint)",
		read: func(s *Submitted) any { return &s.Version },
	},
}

// versionGiven is the condition that a submission that is merged has a version.
const versionGiven = "CAST({reference_version} AS bigint) IS NOT NULL"

// version is the value of reference_version; -1 is NULL.
func (t *NewTask) version() int64 {
	if t.Version == nil {
		return -1
	}
	return *t.Version
}

// keep is the value of keep_ms; -1 is NULL.
func (t *NewTask) keep() int64 {
	if t.Options == nil || t.Options.Keep == 0 {
		return -1
	}
	return t.Options.Keep.Milliseconds()
}

// specRevision is the value of spec_revision; -1 is NULL.
func (t *NewTask) specRevision() int64 {
	if r := t.Start.specRevision(t.Revision); r >= 0 || t.Version == nil && t.Traceparent == "" {
		return r
	}
	return int64(t.Revision)
}

// optionalText returns the column of a text, in which the empty text is NULL.
func optionalText(name string, field func(s *Submitted) *string) *taskColumn {
	return &taskColumn{
		Column: sqlrows.Text(name, func(t *NewTask) string { return *field(&t.Submitted) }).OrNull(),
		read:   func(s *Submitted) any { return sqlrows.OptionalText(field(s)) },
	}
}

// optionalID returns the column of an id, in which the zero id is NULL.
func optionalID(name string, field func(s *Submitted) *uuid.UUID) *taskColumn {
	return &taskColumn{
		Column: optionalIDColumn(name, func(t *NewTask) uuid.UUID { return *field(&t.Submitted) }),
		read:   func(s *Submitted) any { return field(s) }, // NULL leaves it zero
	}
}

// merged returns the column with another merge.
func (c *taskColumn) merged(merge string) *taskColumn {
	c.merge = merge
	return c
}

// actorColumn is used when a task has an actor. Its columns are then taken from
// the columns of the owner.
var actorColumn = &taskColumn{
	Column: optionalIDColumn("created_by, modified_by", func(t *NewTask) uuid.UUID { return t.Actor }),
	count:  2,
}

// idColumn returns a column of ids that every task has.
func idColumn(name string, id func(*NewTask) uuid.UUID) sqlrows.Column[NewTask] {
	return sqlrows.Text(name, func(t *NewTask) string { return id(t).String() }).As("uuid").
		EqualBy(func(a, b *NewTask) bool { return id(a) == id(b) })
}

// optionalIDColumn returns a column of ids, in which the zero id is NULL.
func optionalIDColumn(name string, id func(*NewTask) uuid.UUID) sqlrows.Column[NewTask] {
	return sqlrows.Text(name, func(t *NewTask) string {
		if id(t) == uuid.Nil {
			return ""
		}
		return id(t).String()
	}).As("uuid").OrNull().EqualBy(func(a, b *NewTask) bool { return id(a) == id(b) })
}

// SubmittedColumns returns the names of the columns of a [Submitted].
func SubmittedColumns() (names []string) {
	for _, c := range taskColumns {
		if c.read != nil {
			name, _, _ := strings.Cut(c.Name, ",")
			names = append(names, name)
		}
	}
	return names
}

// Targets appends to scan targets one for each of [SubmittedColumns].
func (s *Submitted) Targets(to []any) []any {
	for _, c := range taskColumns {
		if c.read != nil {
			to = append(to, c.read(s))
		}
	}
	return to
}

// mergedDue is the SQL of not_before after a merge: the time of the submission if it names a time or has a version, and otherwise
// the earlier of the two.
func mergedDue() string {
	pg, lite := due("{not_before}::text", "{not_before}")
	own := versionGiven + " OR {not_before} NOT LIKE '+%'"
	return "CASE WHEN " + dialect.Either(strings.ReplaceAll(own, "{not_before}", "{not_before}::text"), own) +
		" THEN " + dialect.Either(pg, lite) + " ELSE " + dialect.Either("LEAST(not_before, "+pg+")", "min(not_before, "+lite+")") + " END"
}

// mergeClauses are the assignments of a merge whose parameters begin at $first, and their columns.
func mergeClauses(first int) (set string, params []*taskColumn) {
	var clauses, names []string
	for _, c := range taskColumns {
		merge := c.merge
		switch merge {
		case kept:
			continue
		case "":
			merge = "{" + c.Name + "}"
		}
		if strings.Contains(merge, "{"+c.Name+"}") {
			names = append(names, "{"+c.Name+"}", "$"+strconv.Itoa(first+len(params)))
			params = append(params, c)
		}
		for name := range strings.SplitSeq(c.Name, ", ") {
			clauses = append(clauses, fmt.Sprintf("%s = %s", name, merge))
		}
	}
	return strings.NewReplacer(names...).Replace(strings.Join(clauses, ",\n  ")), params
}
