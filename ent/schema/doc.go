// Package schema declares the tables of a taskkit: QueuedTask, one row a task,
// and its companions.
//
// The column names are from the first design (SSP-9 to SSP-28). Times are
// the database's clock, and so the columns that hold them have database
// defaults. The migrations of both dialects are planned from this package; what
// ent cannot express (triggers, storage parameters) stands in the migration and
// is named there.
package schema
