// Package oracle is a checker that shares no code with the engine: it sees what
// is written, remembers it, and says afterwards which promise was broken.
//
//	executors ──Touch──▶ oracle_touch, oracle_entity   what was done, and when
//	triggers  ─────────▶ oracle_history, oracle_process every change of a row
//	clients   ──Log────▶ fsync'd files                  what they were told
//	                          │
//	                        Check ──▶ violations and counts
//
// Nothing here is imported from taskkit. The graph of legal changes is written
// down again, by hand; the ledger has no constraint that would help the engine;
// the triggers see changes whoever makes them. Each change of a row must begin
// where the one before it ended, so a change past the triggers is seen too.
//
// # A run
//
// Migrate, then [Oracle.Install]. Submit with a [Log] around it, its key as
// idempotency key, and the set either in the log or declared in the same
// transaction ([Oracle.Declare]). Executors call [Oracle.Touch] through b.Tx, in
// rising order, and b.Advance with as many. Afterwards, or meanwhile,
// [Oracle.Check].
//
// # What is checked
//
//	I1   a completed task has touched its set once, any other at most once,
//	     none anything else; every counter is the number of its touches
//	I2   an acknowledged Submit exists once, an uncertain one once or not at all
//	     (found again by its key), a refused one not at all
//	I3   changes of status follow the graph; an end is final but for an
//	     operator's retry; a row goes only when somebody asked; no change is unseen
//	I4   the fence goes up by one with each claim, checkpoint_seq by one with each
//	     batch; cursor and counters never go down, and add up at the end
//	I5   no touch of a worker that does not hold the task, or after the next
//	     fence was committed; a process that was declared dead stays so
//	I6   touches and outcomes of items are committed with the checkpoint that
//	     counts them, a state with a checkpoint or not at all
//	I7   no task stays with a dead process; at the end of a run all have ended
//	I8   stop, pause and delete take effect in time, at once when nobody has begun;
//	     an acknowledged request was noted; a removed task leaves no row behind
//	I9   a living process goes on with what it executes
//	I10  the budget of tries; permanent errors end the task, transient ones do
//	     not end it early; every FAILURE has a recorded reason
//	I12  no claim comes before it was due (that retries are spread out is not
//	     checked: it is a property of a load, not of a row)
//	I13  one live task with a unique key; a refusal names one that existed
//	I20  the spec stays what was submitted (the round trip itself is not checked:
//	     the oracle does not know what was meant)
//	I21  every row ever written is legal, and every recorded error is clean text
//	I22  to leave costs no attempt, and takes no longer than it may
//	I25  the checkpoint that reaches a stop policy pauses the task in its transaction;
//	     no batch begins before somebody raises the limit or retries the task
//	I26  the same of a canary and an approval, and no canary is exceeded
//	I27  nothing that a preview writes is ever committed
//	I28  targets that a task finds are stored with the checkpoint of the batch that has
//	     found them; the set is what its executor finds, in order and without
//	     duplicates, and never changes once it is complete; nothing is processed before
//	I29  the ledger of a task has the items with which its committed batches succeeded
//	I30  a parent ends after its children, and no child outlives its removal; no two buckets of a
//	     task have one number or segment
//
// Of I9, a worker's conclusion from an uncertain commit is in its memory. A
// wrong one shows as a batch done twice or left out (I1, I6), or as a task that
// its worker has forgotten (I9). I11 is checked as far as the budget goes (I10);
// what healthy tasks still get through is for a load test. I14 to I19, I23 and
// I24 are about loads, clocks, versions, rights and pages, and have tests of
// their own.
//
// Bounds in time are held against the database's clock, and only against time in
// which some process was alive without a pause: nobody else could have acted.
package oracle
