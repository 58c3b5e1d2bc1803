// Package storetest is the conformance suite of [store.Store]: what the runtime
// and the client rely on, asked of a real database through the interface.
//
// Each case has a database of its own and runs in parallel with the others. A
// store passes when [Run] passes; the tests of internal/store call it for
// PostgreSQL in every mode of the driver, through PgBouncer, and for SQLite.
package storetest
