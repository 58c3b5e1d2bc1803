// Package simulation runs the real engine over a store in memory, in a
// testing/synctest bubble, against everything that a network, a machine, a
// clock and an operator do to it. One seed decides it all.
//
// # What is simulated
//
// Workers ([engine.Worker]) reach the store through a node each, which delays
// calls, loses them on the way there or on the way back, lets them arrive after
// they were given up, and stops or kills its worker (a killed worker's calls
// fail for ever, its transactions are ended by the store). The store's clock
// jumps. Operators stop, pause, resume, retry and delete, change stop policies, approve,
// retry failed items, continue what was stopped and apply previews. Some tasks are previews,
// some find their items when they start, some have a stop policy or a canary, some defer items
// to later passes, and some keep a ledger and come again to items that have failed. Executors fail, panic,
// wait, ignore their context and kill their worker. After a while of that the
// faults end, and every task must reach an end within a deadline. In half of the
// seeds most tasks are submissions about one thing, with one reference.
//
// # What is checked
//
// [Check] reads the store's log of changes and the rows that executors wrote,
// shares no code with the engine, and knows the legal transitions by a table of
// its own. See check.go for the invariants.
//
// # How a seed is replayed
//
// On the machine itself the Go scheduler, select and the engine's jitter are
// random, and a seed decides only what happens, not when. So the tests run the
// simulation as a program for WebAssembly, which has one thread and no
// randomness, time or input but what its host gives it: there a seed is a
// function of its number, and a violation comes back with
//
//	go test ./internal/proof/simulation -run TestSeed -seed N
//
// The same simulation also runs natively, for the race detector and for
// schedules that one thread does not have (TestNative). It is ten times as fast,
// and what it finds may need its schedule to come back.
package simulation
