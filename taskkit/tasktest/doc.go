// Package tasktest tests executors as the runtime runs them.
//
// [Run] runs one task to its end, in the test's process, on an SQLite database
// in memory. [TestExecutor] runs the same task again and again under the faults
// that an executor must not notice (a crash after every batch, a commit whose
// answer is lost, an error at the end of every batch, batches of one item) and
// compares what the executor's own tables hold in the end with an uninterrupted
// run; and it stops the task in the middle.
//
// Both use the real runtime. Faults are made in the store beneath it.
package tasktest
