// Package taskkit runs bulk actions: change the program status of 40,000
// people, mail a caseload, export a search.
//
// A user writes one [Executor] for each action, runs go generate, and calls
// [Submit] from a service, inside the service's own transaction. A [Worker]
// claims the task, runs it batch by batch, each batch in one transaction that
// holds the domain work and the checkpoint together, and classifies what goes
// wrong. [Client] reads tasks and asks things of them.
//
// # The promise
//
// If Submit's transaction committed, the task will run. Whatever an executor
// writes through b.Tx takes effect exactly once for each batch, though workers
// are killed, paused, cut off or replaced at any moment. Effects outside b.Tx
// happen at least once and carry a key by which the receiver can tell. A task
// always reaches an end, and a stop always ends. A worker that has lost its
// task can never commit to it.
//
// It holds with synchronous_commit on, failover without data loss, SQLite's
// synchronous=FULL, and on the writer endpoint.
//
// # Terms
//
// A kind is a bulk action by its stored name. A task is one submitted run of a
// kind. A spec says what was asked and never changes; a state is the bookmark
// between batches. A session is one hold of one task by one worker, from claim
// to release. A batch is one call of Execute, one transaction, one checkpoint.
// An item is one entity dealt with. The owner is the person who asked, run-as
// the person as whom the work executes. The fence is the number of the hold.
package taskkit
