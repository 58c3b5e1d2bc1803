package lifecycle

import "time"

// Class is what an error means for a task.
type Class string

// The classes.
const (
	// Transient: the batch is tried again, later, as often as the task's
	// attempts allow.
	Transient Class = "transient"
	// Permanent: the batch is never tried again; the task ends in FAILURE.
	Permanent Class = "permanent"
	// Refused: the database refused a statement as such, whatever its data: a table or a right is missing, or
	// its text is wrong. The batch is tried again as for Transient, [refusedAttempts] times at most: a migration or a
	// GRANT may be about to mend it.
	Refused Class = "refused"
	// Interrupted: the worker must stop; the task goes back and no attempt is
	// spent.
	Interrupted Class = "interrupted"
	// LeaseLost: another worker may have the task; nothing may be written.
	LeaseLost Class = "lost"
)

// BatchError is what decides what follows the error of a batch.
type BatchError struct {
	Class       Class
	Attempt     int           // the number of this attempt since the last checkpoint, from 1
	MaxAttempts int           // how many there may be
	Backoff     time.Duration // the delay after this attempt
	After       time.Duration // the shortest delay that the executor set; zero: none
	// TooLarge: a statement exceeded a limit of the database. Limit is the number
	// of items that the batch could take at most; zero if the error is not from
	// a batch.
	TooLarge bool
	Limit    int
}

// Reaction is what a session does after the error of a batch.
type Reaction int

// The reactions.
const (
	Retry   Reaction = iota // give the task back, due after a delay
	GiveUp                  // end it in FAILURE: it may have been retried too often
	Fail                    // end it in FAILURE: the error is permanent
	Release                 // give the task back and spend no attempt
	Verify                  // read back whether the task lease is still valid
	Shrink                  // try again at once with a smaller limit; this spends no attempt
)

// refusedAttempts is how often a batch is tried whose statement is refused.
const refusedAttempts = 3

// AttemptsOf returns how often a batch is tried whose error has a class, of the most that there may be.
func AttemptsOf(c Class, most int) int {
	if c == Refused {
		return min(most, refusedAttempts)
	}
	return most
}

// AfterError returns what a session does after the error of a batch and, if that
// is Retry, the delay until the task is due again.
func AfterError(e BatchError) (Reaction, time.Duration) {
	if e.TooLarge && e.Limit > 1 {
		return Shrink, 0
	}
	switch e.Class {
	case LeaseLost:
		return Verify, 0
	case Interrupted:
		return Release, 0
	case Permanent:
		return Fail, 0
	case Refused, Transient:
	}
	if e.Attempt >= AttemptsOf(e.Class, e.MaxAttempts) {
		return GiveUp, 0
	}
	return Retry, max(e.Backoff, e.After)
}

// Poisoned reports whether a claimed task ends in ERROR instead of being
// executed: it has used up its attempts without a checkpoint, and the last one did
// not end in an error, so it seems to kill its workers. attempts includes this claim.
func Poisoned(attempts, maxAttempts int) bool { return attempts > maxAttempts }

// quarantineAfter is the number of attempts from which on a task whose worker
// was lost is suspected to be a poison task.
const quarantineAfter = 3

// Quarantined reports whether a claimed task must not run beside another
// suspect. Otherwise a poison task could use up the attempts of tasks that only
// shared its worker. stalled says that its last worker was lost.
func Quarantined(stalled bool, attempts int) bool { return stalled && attempts >= quarantineAfter }

// RunsAlone reports whether the first batch of an attempt takes a single item. It
// does so in quarantine, so that an item that kills its worker is found as long as
// attempts are left, whatever the size of the kind's batches. It does so after
// attempts that failed with an error too, because a later attempt must know the
// size, and nothing but the number of attempts is stored.
func RunsAlone(attempts int) bool { return attempts >= quarantineAfter }

// PoisonItem reports whether the item that a claimed task is at seems to kill its
// workers: the last one was lost while it ran that item alone, and the task in
// quarantine. attempts includes this claim and no attempt that failed with an
// error; lastLimit is the number of items that the last batch could take at most.
func PoisonItem(stalled bool, attempts, lastLimit int) bool {
	return Quarantined(stalled, attempts-1) && lastLimit == 1
}
