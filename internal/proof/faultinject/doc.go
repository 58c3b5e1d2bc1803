// Package faultinject breaks a worker at every message it exchanges with its
// database, one message at a time. It has tests only.
//
// A task of three batches is run by a worker whose connection can be harmed: on
// PostgreSQL by a proxy that counts the messages of the protocol (package
// faultproxy), on SQLite by a driver that counts calls (package sqlitefault).
// One run without a fault tells how many there are. Then, for each position and
// each action, a new task is run to its end, with a second, healthy worker that
// may take over: at once when the fault strikes, or only when the first has had
// its time. Afterwards the task must be COMPLETED with each entity touched once,
// and the oracle must have nothing to say.
//
// A quarter as many runs have two other tasks: one over a frozen set, with a stop policy
// that pauses it, an item that fails, one that is skipped and one that is deferred to a
// second pass, and a preview of the same. Each must end with these outcomes, paused once,
// and nothing of the preview may be there. As many have a task in three buckets, two at
// once: each entity must be touched once, each bucket be there once, and the task end after its
// buckets with their states merged.
//
// Cuts and delays harm a worker in this process. To be stopped or killed, a
// worker must be a process of its own: the test binary, started again.
//
// The short form runs a sample, drawn by a seed. With TASKKIT_PROVE set to a
// duration the long form runs, for about that time: single faults, COMMITs cut
// both ways, and pairs of faults. Every single fault is run when it is given half
// an hour or more. TASKKIT_SEED replays a sample.
//
//	TASKKIT_PROVE=40m go test -timeout 2h -run TestLong -v ./internal/proof/faultinject
package faultinject
