// Package engine is the runtime: it claims tasks, runs them batch by batch, and
// gives them back, over any [taskkit.dev/internal/store.Runtime].
//
// # The parts of a worker
//
//	claimer ──▶ pool: buffer ──▶ slots (sessions) ──▶ batch transaction ──▶ commit
//	   ▲                              │
//	wake-ups                          └──▶ flusher: group commit of starts, ends
//	   ▲                                   and checkpoints without a transaction
//	listener, reaper, freed slots          heartbeat
//	   ▲         ▲
//	   │      presence: notices workers that were killed
//	wake queues: wake tasks whose children have ended, or for which a permit is free
//
// A [Worker] registers under a process ID that is never used again. A
// registration is the worker under one such ID: it owns the parts above, each
// with one goroutine, and ends them in the order shown below. When its heartbeat
// cannot be renewed in time, or the database has declared it dead, the
// registration stops writing and the worker registers again under a new ID.
//
// # Invariants
//
//   - A session writes to its task only under the fence of its task lease and
//     the checkpoint_seq that it read. When a write is not applied, the session
//     reads the task back and continues from what the database holds.
//   - State reaches an executor only as decoded JSON of the last commit.
//   - The heartbeat deadline is measured on the monotonic clock, from before the
//     heartbeat was sent. It passes before others may take the tasks over.
//   - An executor that ignores its context is abandoned: its transaction is
//     closed and rolled back, its slot is freed, its task continues elsewhere.
//   - Everything that waits has a timeout or ends with the registration.
//
// # Order of a shutdown
//
//	Run's context ends, or the heartbeat is lost
//	   │
//	   │  the claimer ends: nothing more is claimed
//	   │  the buffer is closed; tasks in it are released unstarted
//	   │  draining is closed: a session ends at its next batch boundary
//	   │
//	   ├─ Drain less a grace period has passed (at once if the heartbeat is lost):
//	   │  the context of the sessions ends, which cancels their batches
//	   ├─ half of the grace period later: sessions still running are abandoned
//	   │
//	   │  the flusher is closed: it writes what is queued and ends
//	   │  sessions that continued outside a slot end
//	   │  the context of all writes ends
//	   │  Deregister (unless the heartbeat is lost): the database releases every task
//	   │  that is still leased, without spending an attempt
//	   │
//	   ▼  heartbeat, reaper, presence, listener and wake queues end; Run returns or registers again
//
// # A takeover
//
//	worker A               database                worker B
//	   │ heartbeat ──────────▶│                        │
//	   ✗ network is cut       │ A's last heartbeat     │
//	   │                      │                        │
//	   │ 0.8 × DeadAfter: A's heartbeat deadline       │
//	   │ passes; A cancels its batches and             │
//	   │ writes nothing more                           │
//	   │                      │                        │
//	   │          1.0 × DeadAfter ◀──────────── Reap   │
//	   │                      │ A is declared dead; its tasks are
//	   │                      │ QUEUED again, marked stalled
//	   │                      │◀─────────────── Claim  │
//	   │                      │ fence + 1, attempts + 1│
//	   │ a late write ───────▶│                        │
//	   │ refused: old fence   │                        │ executes the batch that
//	   │                      │                        │ follows the last checkpoint
//	   │ registers again      │                        │
//	   │ under a new ID       │                        │
//
// A worker that is killed is taken over within seconds, because its presence lock is free:
// see presence.go, and docs/architecture.md for a diagram.
//
// The scripts in testdata show all of this step by step, with the resulting changes.
//
// The engine uses package time only, so it runs unchanged in a
// testing/synctest bubble.
package engine
