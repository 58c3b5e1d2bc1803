// Package workflow holds the life of a task as plain values: the six statuses,
// the one table of legal transitions, and the requests an operator may make.
//
// Everything that guards a status reads this package: the WHERE clauses of
// internal/store, the hook of ent/schema, the triggers in migrations/ (a test
// compares them), and the documentation's diagram.
package workflow
