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
// Some seeds have more, each by a generator of its own, so that the other seeds stay as they are:
//   - windows, latest starts, deadlines and time limits of tasks (times_plan.go). The store's clock
//     jumps to shortly before a window opens or closes.
//   - indicators that make batches wait (throttle.go): VACUUM works on a table that some kinds touch, or
//     an indicator of the user's is not well, fails, panics or hangs.
//   - two queues, which an operator pauses and resumes, and workers in safe mode (queues.go).
//   - parents whose children are ranges of their targets, or find their own as buckets do, with a policy over the items that fail in
//     any of them (parts_plan.go).
//   - schedules that the workers fire (schedules.go), which are set, paused, resumed, changed,
//     triggered and deleted. The store's clock jumps to shortly before a fire, and past some.
//
// # What is checked
//
// [Check] reads the store's log of changes and the rows that executors wrote,
// shares no code with the engine, and knows the legal transitions by a table of
// its own. See check.go for the invariants.
//
// The commit with which a policy over children holds for the first time pauses or stops the parent, and a policy that has fired stays so.
//
// A batch of a task with times begins within its window and before its limits, by the clock that its session
// was told when it began: a session does not notice a jump of the store's clock. A task that fails
// because of its times has the code of one that has passed, and one that waits for its window is due when
// that opens next. A batch begins if a reading that still holds said of each indicator that concerns
// its kind that all is well. No claim after a pause of a queue takes a task of it, unless that is to end, which it does
// although the queue is paused. A worker in safe mode claims nothing. Each fire of a schedule stores a task
// for each wall time that was due, by the policy for those that were missed, and no wall time has two.
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
