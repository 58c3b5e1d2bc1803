// Package caseload is the domain of taskkit's demonstration and tests: students, the
// programs in which they are enrolled, watches, early alerts, an outbox, and unfinished
// exports.
//
// It is the user's side of the library: it does not import taskkit, and an application
// would have such a package already. Its functions take an ent client, so that a bulk
// action calls them inside its batch's transaction and a service inside its own.
//
// # The ledger
//
// Database triggers write one row of caseload_touch for every row of the domain
// that is written for a task. Neither the executors nor the runtime use the table. It
// has no unique constraint, and no write is idempotent: a status is written for the task
// even if it does not change, a watch is renewed, an alert is raised again. If a batch
// took effect twice, its people were touched twice; [Audit] counts them. Mails and files leave the
// database and are audited where they arrive: [AuditFile] reads the export back,
// and the SMTP server keeps a log of its own.
package caseload

//go:generate go run ./internal/generate
