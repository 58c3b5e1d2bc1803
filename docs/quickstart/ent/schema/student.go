// Package schema declares the application's own tables.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Student is somebody with a status.
type Student struct{ ent.Schema }

// Fields implements [ent.Interface].
func (Student) Fields() []ent.Field {
	return []ent.Field{
		field.Text("name"),
		field.Text("status").Default("active"),
	}
}

// Edges implements [ent.Interface].
func (Student) Edges() []ent.Edge {
	return []ent.Edge{edge.From("cohort", Cohort.Type).Ref("students").Unique()}
}

// Cohort is a year of students.
type Cohort struct{ ent.Schema }

// Fields implements [ent.Interface].
func (Cohort) Fields() []ent.Field {
	return []ent.Field{
		field.Text("name"),
		field.Bool("closed").Default(false),
	}
}

// Edges implements [ent.Interface].
func (Cohort) Edges() []ent.Edge {
	return []ent.Edge{edge.To("students", Student.Type)}
}
