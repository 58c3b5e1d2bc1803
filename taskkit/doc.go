// Package taskkit runs bulk actions: change the program status of 40,000
// people, mail a caseload, export a search.
//
// A user writes one [Executor] for each action, runs go generate, and calls
// [Submit] from a service, inside the service's own transaction. A [Worker]
// claims the task and runs it batch by batch. Each batch is one transaction with
// the executor's writes and the checkpoint. Errors are classified as transient or
// permanent. [Client] reads and controls tasks.
//
// # The promise
//
// If Submit's transaction committed, the task will run. Whatever an executor
// writes through b.Tx takes effect exactly once for each batch, though workers
// are killed, paused, cut off or replaced at any moment. Effects outside b.Tx
// happen at least once and carry a key by which the receiver recognizes
// repetitions. Every task ends, and every stop takes effect. A worker that has lost
// its task can never commit to it.
//
// It holds with synchronous_commit on, failover without data loss, SQLite's
// synchronous=FULL, and on the writer endpoint.
//
// # Three levels
//
// Level 1 is enough for most executors. [Executor] has one method, Execute, which gets a
// [Batch]: the next items come from [Take], writes go through b.Tx, what has to be
// remembered goes into b.State, and [More] or [Done] says whether another batch follows.
// The [Kind] and its Submit, Get and Fetch are generated. [Migrate], [NewWorker] and a
// [Client] with Task, Stop and Retry are the rest.
//
// Level 2 is for items that fail and tasks that end early: [Batch.Fail], [Batch.Skip] and
// [Batch.Defer] record single items, [Each] finds the bad item of a batch, [Permanent],
// [Transient] and [RetryAfter] classify errors, [WithStrategy] says what becomes of them, [Later] waits, [Aborter] cleans up and
// [Reporter] makes a result. [Client.Items] and [Client.RetryFailed] follow.
//
// Level 3 is for large and careful actions, each independent of the others: frozen sets
// ([WithTargets], [Targeter]), previews and approval ([WithPreview], [WithCanary],
// [WithApproval], [WithStopAfter]), limits, rates and times ([WithLimit], [Limiter],
// [WithMaxRate], [WithWindow], [WithDeadline]), merging ([WithCoalescing]), children, buckets
// and stages ([AwaitChildren], [Segmenter], [Stager]).
//
// Operators find dead letters, queues, limits and schedules in package taskops.
//
// # Terms
//
// A kind is a bulk action with its stored name. A task is one submitted run of a
// kind. The spec is the input of a task and never changes. The state is the
// executor's progress, stored with each checkpoint. A session is the time from a
// claim of a task by a worker to its release. A batch is one call of Execute, one
// transaction and one checkpoint. An item is one entity to process. The owner is the
// person on whose behalf the task was submitted, and run-as the person as whom it
// executes. The fence is a number that each claim increments; writes with an older one
// are refused.
package taskkit
