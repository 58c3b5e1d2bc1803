package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// clock is the column default "now, by the database's clock". On SQLite a time
// is text in UTC with a fixed width, so that times compare as text.
func clock() schema.Annotation {
	return entsql.Annotation{DefaultExprs: map[string]string{
		dialect.Postgres: "clock_timestamp()",
		dialect.SQLite:   "(datetime('now', 'subsec'))",
	}}
}

// no is the column default false. It is an expression, since SQLite would store
// the quoted default as the text 'false', which is not 0.
func no() schema.Annotation {
	return entsql.Annotation{DefaultExprs: map[string]string{
		dialect.Postgres: "false",
		dialect.SQLite:   "(false)",
	}}
}

// auditFields are three of the four audit columns (SSP-10), which hardly ever
// change; modifiedField changes with every version of a row. They are no mixin,
// whose columns would stand together. The database fills the dates on insert; the
// statements of internal/store set them afterwards.
func auditFields() []ent.Field {
	return []ent.Field{
		field.UUID("created_by", uuid.UUID{}).Immutable(),
		field.Time("created_date").Immutable().Annotations(clock()),
		field.UUID("modified_by", uuid.UUID{}),
	}
}

func modifiedField() ent.Field {
	return field.Time("modified_date").Annotations(clock())
}
