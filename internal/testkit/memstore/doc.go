// Package memstore is a [store.Store] in memory, for the simulation: it runs in
// a testing/synctest bubble, where no database can.
//
// It behaves as PostgreSQL does under READ COMMITTED, as far as the runtime can
// tell, and passes the same conformance suite (internal/testkit/storetest):
//
//   - A statement is atomic, and sees what has been committed.
//   - A batch's transaction holds its task's row as KEY SHARE does: heartbeats,
//     requests and other writes pass, takeovers step over it, removals wait.
//   - Between the last write of a batch and its commit ([Tx.Prepare] and
//     [Tx.Finish]) the row is locked as by an UPDATE: readers see what was
//     before, other writers wait, takeovers step over it.
//   - A transaction in which nothing is said for its limit is ended by the
//     store, since its worker may be stopped or cut off.
//   - No change of a row passes that the table of transitions
//     (internal/lifecycle) does not have, whoever makes it.
//
// The clock is the store's own: time.Now and an offset that may jump.
//
// Every committed change of a task, and every row that a batch's transaction
// has written into a table of its user's, is kept in the order of the commits
// ([Store.Log], [Store.Rows]) for whoever checks what happened.
package memstore
