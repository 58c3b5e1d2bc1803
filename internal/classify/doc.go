// Package classify decides what an error means for a task: whether the batch is
// retried, when, and which code a client sees. The error codes of PostgreSQL and
// SQLite are read here and nowhere else.
//
// It inspects the structure of errors and imports no driver.
package classify
