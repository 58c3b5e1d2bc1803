// Package model holds two models in Promela, for the model checker spin: task.pml is
// the protocol by which workers hold, run and end tasks, and parent.pml that by which
// a task waits for its children. There is no code here; the tests
// search every state of the models, and refute each of their broken variants.
//
// task.pml is written beside the engine, not from it: where the two differ, one
// of them is wrong. What it has, and what the engine has:
//
//	claim, fence, attempts     store.Claim
//	Begin, its guard and lock  store.Begin, engine session.batch
//	the guarded last write     store.Tx.Commit, store.Apply
//	look                       store.Positions, engine session.reconcile
//	late, sent                 a COMMIT or a statement that arrives after look
//	Reaper                     store.Reap
//	identities, born           engine incarnations: never used twice
//	stop, del                  the column control
//
// A variant is one rule broken, as some system has it: a reaper that updates by
// id alone, a fence that is a name, a guard at the beginning alone, slots counted
// by a semaphore, a reaper that joins with process rows, a stop that is a signal,
// an own end that voids an accepted delete, a lease measured by the worker's clock, attempts counted at failures, and a
// session that gives up when Begin finds another checkpoint, which this engine
// once had.
//
// parent.pml is the specification of a parent and its children:
//
//	wait, the row of the family      the write that waits, taskkit_task_parent
//	wakeRead, wakeEffect             the one statement that wakes parents
//	session, waitAgain               the check of the condition before Execute
//	stopping, ends                   how a parent with open children ends
//	locked                           the lock that new children and ends take
//	sent                             a statement that arrives after look
//
// Every run of it is finite, so that a parent that is left asleep is an invalid end
// state. No wake takes effect twice for one wait, or while its condition does not
// hold; Execute runs with no more open children than its task waited for; no parent ends
// before its children; a stop reaches children that nothing else ends. That holds with a
// death after each step, as the reaper covers what the dead left undone, and without the reaper
// as long as nobody dies.
package model
