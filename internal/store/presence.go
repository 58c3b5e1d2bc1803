package store

import (
	"errors"
	"fmt"
	"time"
)

// AbsentFor is for how long the presence lock of a process must have been free
// before others declare the process dead. Until then a process that has lost its
// lock with a connection can take another one.
const AbsentFor = 1200 * time.Millisecond

// Why a process has ended, as stored in its row.
const (
	EndedLeft   = "left"
	EndedSilent = "silent for longer than it said it may be"
	EndedAbsent = "killed, crashed or cut off from the database"
)

// ErrNoPresence: presence locks cannot be taken or read from here.
var ErrNoPresence = errors.New("the presence of workers cannot be told from here")

// ErrInMemory is the ErrNoPresence of a database in memory, which ends with its one process.
var ErrInMemory = fmt.Errorf("%w: the database is in memory", ErrNoPresence)

// Watcher is what [Workers.Watch] calls. No function may block or be nil.
type Watcher struct {
	// Ready is called once the self-test has passed.
	Ready func()
	// Present is called with nil once the process has presence, and with an
	// error, which is an ErrNoPresence, when it cannot have it from here.
	Present func(error)
	// Wake is called whenever tasks may have become claimable. Calls may be missing
	// or superfluous.
	Wake func()
	// Joined is called when another process may have got presence. Calls may be
	// missing or superfluous.
	Joined func()
}

// PresenceReading is what [Workers.ReadPresence] has found.
//
// A process with presence holds a lock that its operating system or the database
// server frees at the moment the process ends, sooner than its heartbeats show it. Each lock has a number that is drawn
// for it, and the row of the process names it: once a lock is free it is never held
// again.
//
// A process takes its lock before its row names it, so the lock of a row is free
// only because it was lost. [Workers.Watch] takes it, and holds it while it watches. The next
// heartbeat of a process that has lost its lock removes it from the row: from then on only
// heartbeats show whether the process runs.
type PresenceReading struct {
	At time.Time // by the database's clock
	// Others are the other live processes, by their ids.
	Others []string
	// Present: one of them has presence.
	Present bool
	// Absent are the locks of those whose lock is free, and was seen to be free
	// AbsentFor ago or earlier. [Upkeep.Reap] declares these processes dead.
	Absent []int64
	// Missing: a lock is free that was not seen to be free AbsentFor ago.
	Missing bool
}
