// Package sqlitefault stands between database/sql and an SQLite driver, counts
// the calls, and makes one of them go wrong.
//
// A call is one of the driver's that may fail: Open, Exec, Query, Next (of rows,
// where a statement that returns rows does its work), Prepare, Begin, Commit,
// Rollback. Each has a number, counted over all connections. A [Fault] names
// one and what becomes of it: an error with nothing done, or with all done; the
// same and the connection is of no use any more; or the call is late, or a
// function of the caller's runs just before it.
//
// The errors are SQLITE_IOERR, as from a failing disk, except for [BusyBefore].
package sqlitefault
