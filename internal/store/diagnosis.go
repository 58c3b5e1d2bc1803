package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Diagnosis reads samples that show what is wrong with the tasks of a database. Its methods change and lock nothing, and read
// a bounded number of rows by an index, however many tasks there are.
type Diagnosis interface {
	// OldestDue returns the tasks of a queue that have been due for longest, or will be within this time, the oldest first, at
	// most limit: of each kind, revision and rank it reads [OldestOfLane].
	OldestDue(ctx context.Context, queue string, within time.Duration, limit int) ([]uuid.UUID, error)
	// InFlight counts the tasks that workers have claimed, by queue and kind, the most first, among the oldest [DiagnosisRead].
	InFlight(ctx context.Context) ([]InFlight, error)
	// FailingCodes returns the codes with which attempts of at least so many tasks have failed since so long ago, the most
	// tasks first, among the newest [DiagnosisRead] failed attempts.
	FailingCodes(ctx context.Context, since time.Duration, tasks int) ([]FailingCode, error)
	// AwaitingApproval returns tasks that have waited for their approval for at least so long, the oldest first, at most limit:
	// it reads the newest [ListRead] tasks that wait for approval and were submitted before. now is the time by the database's clock.
	AwaitingApproval(ctx context.Context, now time.Time, since time.Duration, limit int) ([]Awaiting, error)
	// FailingTargets returns the targets of notifications with at least so many failed tries since so long ago and since the last
	// notification that was delivered to them, the most tries first: it reads the newest [DiagnosisRead] failed attempts, as many
	// notifications that have ended, and as many tasks with a plan.
	FailingTargets(ctx context.Context, since time.Duration, tries int) ([]FailingTarget, error)
}

const (
	// OldestOfLane is how many due tasks of a kind, revision and rank [Diagnosis.OldestDue] reads at most.
	OldestOfLane = 20
	// DiagnosisRead is how many rows the other methods of [Diagnosis] read at most.
	DiagnosisRead = 10_000
	// FailingListed is how many codes and targets [Diagnosis.FailingCodes] and [Diagnosis.FailingTargets] return at most.
	FailingListed = 20
)

// InFlight are the tasks of a kind that workers have claimed from a queue.
type InFlight struct {
	Queue, Kind string
	Tasks       int64
	Since       time.Time // when the first of them was claimed
}

// FailingCode is a code with which attempts of several tasks have failed.
type FailingCode struct {
	Code            string
	Tasks, Attempts int64
	First, Last     time.Time
	Example         uuid.UUID // one of the tasks
}

// Awaiting is a task that waits for its approval.
type Awaiting struct {
	ID    uuid.UUID
	Kind  string
	Since time.Time
}

// FailingTarget is a target that takes no notifications.
type FailingTarget struct {
	Target      string
	Notices     int64 // with failed tries
	Tries       int64
	First, Last time.Time
	Example     uuid.UUID // the newest of the notifications
	Code        string    // of the last failed try of the example
	// Dead are the dead letters among the newest [FailingListed] notifications.
	Dead []uuid.UUID
}
