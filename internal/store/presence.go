package store

import (
	"context"
	"errors"
	"time"
)

// AbsentFor is for how long the presence lock of a process must have been free
// before others declare the process dead. Until then a process that has lost its
// lock with a connection can take another one.
const AbsentFor = 1200 * time.Millisecond

// Why a process has ended, as its row says.
const (
	EndedLeft   = "left"
	EndedSilent = "silent for longer than it said it may be"
	EndedAbsent = "its presence lock was free"
)

// ErrNoPresence: presence locks cannot be taken or read from here.
var ErrNoPresence = errors.New("the presence of workers cannot be told from here")

// Presence tells which processes still run, sooner than their heartbeats do. A
// process with presence holds a lock that its operating system or the database
// server frees at the moment the process ends. Each lock has a number that is drawn
// for it, and the row of the process names it: once a lock is free it is never held
// again.
//
// A process takes its lock before its row names it, and so the lock of a row is free
// only because it was lost. [Store.Watch] takes it, and holds it while it watches. The next
// heartbeat of a process that has lost its lock removes it from the row: only
// heartbeats tell then whether the process runs.
type Presence interface {
	// Watch watches the database for a process until ctx ends or watching fails. It returns
	// ErrNoWatch when this database cannot be watched from here (through a
	// pooler), after a self-test, and ErrDead when the process has been declared dead.
	Watch(ctx context.Context, process string, w Watcher) error
	// ReadPresence reads which locks of other live processes are free, and records in
	// the row of such a process when that was seen first. It never waits for a row
	// lock, and returns ErrNoPresence when it cannot tell. A process whose own lock is
	// free has moved to another server, or its server was restarted, and the locks of all
	// others are free for the same reason: it sees none that is.
	ReadPresence(ctx context.Context, process string) (PresenceReading, error)
	// FoundAlive records that a process runs, and reports whether it had been declared
	// dead.
	FoundAlive(ctx context.Context, process string) (declaredDead bool, err error)
}

// Watcher is what [Store.Watch] calls. No function may block or be nil.
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

// PresenceReading is what [Presence.ReadPresence] has seen.
type PresenceReading struct {
	At time.Time // by the database's clock
	// Others are the other live processes, by their ids.
	Others []string
	// Present: one of them has presence.
	Present bool
	// Absent are the locks of those whose lock is free, and was seen to be free
	// AbsentFor ago or earlier. [Store.Reap] declares these processes dead.
	Absent []int64
	// Missing: a lock is free that was not seen to be free AbsentFor ago.
	Missing bool
}
