// Package storetest is the conformance suite of [store.Store]: it checks on a real database what the runtime
// and the client rely on.
//
// Each case has a database of its own and runs in parallel with the others. A
// store passes when [Run] passes; the tests of internal/store call it for
// PostgreSQL in every mode of the driver, through PgBouncer, and for SQLite.
package storetest
