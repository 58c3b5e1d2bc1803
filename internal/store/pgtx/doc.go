// Package pgtx runs transactions on PostgreSQL in few round trips.
//
// It depends on no table. A [Pool] runs two sorts of transactions on the connections of a *sql.DB:
//
//   - [Pool.InTx], for the statements of the store. Steps whose results nothing waits for are queued. They are sent with BEGIN,
//     with the next statement, or with COMMIT.
//   - [Pool.Begin], for a batch: it gives a *sql.Tx to executors. BEGIN and a lock are sent with the first statement of the
//     executor, and the last write of the batch with COMMIT.
//
// # Round trips
//
// Steps that are sent together are a batch of pgx, whose connection is found by [sql.Conn.Raw]. On a connection of another
// driver, or one that wraps pgx, they are sent one by one; everything else is the same. Steps are sent as
// default_query_exec_mode of the pool requires, and leave no session state behind, so a pooler in transaction mode may
// be in between. After a step that fails the server runs no other of the same batch.
//
// # A *sql.DB for each batch
//
// Executors use ent, whose session variables (entsql.WithVar) need a *sql.Tx, and database/sql makes one only by a BEGIN of
// its own and ends it by a COMMIT of its own: two round trips more for each batch. So [Pool.Begin] takes a *sql.Conn, and
// makes its driver's connection the only connection of a new *sql.DB. There BEGIN does nothing, the first statement
// sends the real one, and COMMIT sends the last write too. This is the price of ent, and nothing else needs it: it costs a
// few microseconds and no connection. The *sql.Conn is closed, and the connection thus returned to the pool, when the
// transaction has ended.
//
// The *sql.Conn reserves the driver's connection, and database/sql calls it from one goroutine at a time, so it may be used
// outside of [sql.Conn.Raw].
//
// # Errors
//
// A statement that begins a transaction may fail because the connection was lost while it was idle. Then nothing was sent, and
// another connection is tried, as database/sql does. An error of COMMIT that is not the server's refusal of a statement before
// it is a [store.UnknownError]: only the rows show whether the transaction was committed. A connection whose transaction has
// not certainly ended is closed and not returned to the pool.
package pgtx
