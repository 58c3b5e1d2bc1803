// Package caseload is the domain that taskkit's demonstration and tests act on:
// students, the programs they are enrolled in, who watches them, early alerts,
// an outbox, and exports in the making.
//
// It stands on the user's side of the library: it knows nothing of taskkit, and
// an application would have its like already. Its functions take an ent client,
// so that a bulk action calls them inside its batch's transaction and a service
// inside its own.
//
// # The ledger
//
// Database triggers write one row of caseload_touch for every row of the domain
// that is written for a task. Neither the executors nor the runtime know the
// table. It has no unique constraint, and none of the writes is made harmless
// to repeat: a status is written for the task also when it is already as asked,
// a watch is renewed, an alert is raised anew. A batch that took effect twice
// shows as people touched twice; [Audit] counts them. Mails and files leave the
// database and are audited where they arrive: [AuditFile] reads the export back,
// and the SMTP server keeps a log of its own.
package caseload

//go:generate go run ./internal/generate
