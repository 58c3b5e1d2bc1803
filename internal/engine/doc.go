// Package engine is the runtime: it claims tasks, runs them batch by batch, and
// gives them back, over any [store.Store].
//
// # One worker
//
//	claim ──▶ buffer ──▶ slots (sessions) ──▶ batch transaction ──▶ commit
//	  ▲                        │
//	 wake                      └──▶ group commit (starts, ends, small checkpoints)
//	heartbeat, reaper, watcher run beside them
//
// An incarnation is one identity of a worker: enrolled, beating, holding tasks.
// When its heartbeat cannot be renewed for the length of its lease, or the
// database says that it is dead, it stops writing, and the worker begins anew
// under another identity.
//
// # Invariants
//
//   - A session writes to its task only under its fence and the checkpoint_seq
//     that it read; an answer of "not applied" makes it read back where the
//     task stands and believe that.
//   - State reaches an executor only as decoded JSON of the last commit.
//   - The lease is measured on the monotonic clock, from before the heartbeat
//     was sent. It ends earlier than others may take over.
//   - An executor that ignores its context is left behind: its transaction is
//     sealed and rolled back, its slot is freed, its task goes on elsewhere.
//   - Everything that waits has a deadline or ends with the incarnation.
//
// The engine uses package time only, so it runs unchanged in a
// testing/synctest bubble.
package engine
