// Package tasktest tests executors as the runtime runs them.
//
// [Run] runs one task to its end, in the test's process, on an SQLite database
// in memory. [TestExecutor] runs the same task again and again under the faults
// that must not change its results (a crash after every batch, a commit whose
// response is lost, an error at the end of every batch, batches of one item) and
// compares the final contents of the executor's own tables with an uninterrupted run. After a batch was rolled back it compares them with those before
// the batch, which finds an executor that writes outside b.Tx. It also stops the task in the middle. After a crash a new
// executor continues, as in a new process. A task that makes no progress fails the
// test.
//
// [Start] runs a worker of several kinds until the test ends.
//
// All use the real runtime. Faults are injected in the store below it.
package tasktest
