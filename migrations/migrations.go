// Package migrations holds the versioned SQL of taskkit's tables, one directory
// for each dialect.
//
// The files are planned from ent/schema by internal/cmd/schemaplan, which make generate runs;
// what ent has no words for is written by hand there. On
// PostgreSQL every name is qualified with the placeholder {schema}, which
// internal/migrate replaces, so that any number of taskkits fit in one
// database and search_path never matters.
//
// A file that has been released is never edited. Migrations go up only and add
// before they take away, so that the previous release runs on the new schema.
// Indexes that come after a release are in files of their own, which schemaplan
// writes with -after: on PostgreSQL they are made CONCURRENTLY, without a transaction,
// since the table of tasks may be large.
package migrations

import "embed"

//go:generate go run ../internal/cmd/schemaplan -schema ../ent/schema -dialect postgres -o postgres/00001_taskkit.sql
//go:generate go run ../internal/cmd/schemaplan -schema ../ent/schema -dialect sqlite3 -o sqlite/00001_taskkit.sql

// FS holds postgres/*.sql and sqlite/*.sql in goose's format.
//
//go:embed postgres/*.sql sqlite/*.sql
var FS embed.FS
