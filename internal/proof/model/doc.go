// Package model holds a model of the protocol by which workers hold, run and end
// tasks, in Promela, for the model checker spin. There is no code here; the test
// searches every state of the model, and refutes each of its broken variants.
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
package model
