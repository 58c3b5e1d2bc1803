// Package memstore is a store in memory for the simulation and the tests of the engine: it runs in
// a testing/synctest bubble, where no database can. It has what workers need and requests; [Double] lists it.
//
// It behaves as PostgreSQL does under READ COMMITTED, as far as the runtime can
// observe, and passes the same conformance suite (internal/testkit/storetest):
//
//   - A statement is atomic, and sees what has been committed.
//   - A batch's transaction holds its task's row as KEY SHARE does: heartbeats,
//     requests and other writes pass, takeovers step over it, removals wait.
//   - Between the last write of a batch and its commit ([Tx.Prepare] and
//     [Tx.Finish]) the row is locked as by an UPDATE: readers see what was
//     before, other writers wait, takeovers step over it.
//   - A transaction that is idle for longer than its limit is ended by the
//     store, since its worker may be stopped or cut off.
//   - A change of a row that is not in the table of transitions
//     (internal/lifecycle) is refused, whoever makes it.
//
// The clock is the store's own: time.Now and an offset that may jump.
//
// Every committed change of a task, and every row that a batch's transaction
// has written into a table of the user, is kept in the order of the commits
// ([Store.Log], [Store.Rows]), so that tests can check what happened.
package memstore
