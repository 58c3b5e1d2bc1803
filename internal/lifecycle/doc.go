// Package lifecycle holds the rules of a task's life as pure functions: no I/O,
// no clock, no randomness. Each rule has its one definition here:
//
//	name.go        what kinds and queues may be called
//	status.go      the six statuses
//	edge.go        the legal transitions between them
//	control.go     the requests that can stand on a task
//	row.go         the columns that the rules read and write, and what always holds of them
//	request.go     what an operator's request does, and which ones are refused
//	conditions.go  when a task must not go on by itself: stop policy, canary, approval
//	skip.go        when an operator's retry can skip an item, and what that does
//	claim.go       which tasks can be claimed, in which order, and what a claim does
//	write.go       which writes a task's holder may make, and the row after each
//	coalesce.go    which waiting tasks a submission replaces, and the row after that
//	release.go     what happens to the tasks of a worker that left or was lost
//	readback.go    what a read-back proves about a write whose outcome is unknown
//	retry.go       what follows an error; when a task counts as poison
//
// A holder is the worker session that has claimed a task. Its task lease is the
// task's id, fence and checkpoint_seq, as the session has read them.
//
// Everything else reads this package. The engine and the store in memory call
// it. The SQL of internal/store is rendered from it where it lists statuses or
// transitions, and compared with it by internal/testkit/storetest, which makes
// every request and every write on every kind of row of a real database. The
// triggers in migrations/, the hook of ent/schema and the diagram in
// docs/state-machine.md are checked against the table of transitions.
//
// The oracle and the model in internal/proof do not use this package: they are
// written independently and would notice a rule that is wrong here.
package lifecycle
