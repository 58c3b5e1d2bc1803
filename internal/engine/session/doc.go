// Package session is the work of one worker on one task, under one task lease: it executes the task batch by batch, writes
// checkpoints, and ends the task or gives it back.
//
// A [Session] keeps the lease, the state and the progress of its task, and a list of features: what only some tasks have,
// such as frozen targets, children or times. All features are called at the same points of a session, see feature.go. Executors
// get a [Step] for each call, and its transaction, a [LazyTx].
//
// The worker around the sessions is behind interfaces: [Pool], [Writer] and [Deadline].
package session
