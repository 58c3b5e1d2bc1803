package store

import (
	"time"
)

// HealthIndicator names an indicator of the database's health.
type HealthIndicator string

// The indicators of the database's health.
const (
	HealthVacuum   HealthIndicator = "vacuum"
	HealthReplicas HealthIndicator = "replicas"
	HealthWAL      HealthIndicator = "wal"
	HealthLocks    HealthIndicator = "locks"
)

// HealthQuery selects the indicators to read.
type HealthQuery struct {
	// Tables are those that bulk changes write, as the database names them, each perhaps with its
	// schema. Without one the search_path of the connection finds it.
	Tables                  []string
	Vacuum, Replicas, Locks bool
	WAL                     bool
	LockWait                time.Duration // waits for a lock that have taken longer
}

// HealthReading is what [Health.ReadHealth] has seen.
type HealthReading struct {
	Vacuums   []Vacuum
	Replicas  []Replica
	LockWaits []LockWait
	// WAL is how much WAL the server has ever written, in bytes, at the time At of its clock.
	WAL int64
	At  time.Time
	// Missing are the tables that do not exist. They are known if Vacuum was read.
	Missing []string
	// Unreadable has the reason why an indicator was not read.
	Unreadable map[HealthIndicator]error
}

// Vacuum is a command that works on a table or on a part of it: a partition, a table that
// inherits from it, or where its long values are.
type Vacuum struct {
	Table   string // as in the query
	Command string // such as "autovacuum", "VACUUM" or "VACUUM FULL"
	// Wraparound: an autovacuum that does not yield to other sessions.
	Wraparound bool
	Phase      string // in the words of the server; "" if they are not known
	Percent    int    // of the table that has been scanned; -1 if it is not known
}

// Replica is a physical standby that is connected.
type Replica struct {
	Name   string        // its application_name
	Behind time.Duration // by the last measurement; 0 if there is none, or if nothing is to be replayed
	Bytes  int64         // of WAL that it has not replayed
}

// LockWait is the wait of a session for a lock on a table of the query, or for one of a batch.
type LockWait struct {
	Table string // as in the query; "": a batch blocks it
	For   time.Duration
}
