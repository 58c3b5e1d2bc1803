package store

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
)

var (
	// ErrNoSchedule: there is no such schedule.
	ErrNoSchedule = errors.New("no such schedule")
	// ErrScheduleChanged: others changed a schedule again and again at the same time.
	ErrScheduleChanged = errors.New("others change the schedule at the same time: try again")
)

// Schedule submits tasks of a kind at the wall times of a cron expression.
type Schedule struct {
	ID      uuid.UUID
	Version int64
	Name    string

	Kind        string
	Spec        json.RawMessage
	Revision    int     // of the spec
	Secrets     *string // pointers to what must not be shown, one a line; nil: not known yet
	Cron        string
	Zone        string // "": UTC
	Queue       string // "": the queue of the kind
	Priority    int
	Owner       uuid.UUID
	RunAs       uuid.UUID
	Misfire     string // once, all or forget
	Paused      bool
	PausedBy    uuid.UUID
	PauseReason string

	NextAt   time.Time // zero: never
	NextWall string

	Triggered     bool // a task is to be submitted at once, paused or not
	TriggeredBy   uuid.UUID
	TriggerReason string

	LastAt      time.Time // zero: it has submitted nothing yet
	LastWall    string    // "": it was triggered
	LastTask    uuid.UUID
	LastError   string
	LastErrorAt time.Time

	// ModifiedBy is who last changed it, and the others are read only.
	ModifiedBy        uuid.UUID
	CreatedBy         uuid.UUID
	Created, Modified time.Time
}

// DueSchedules selects due schedules.
type DueSchedules struct {
	Kinds map[string][]int // kind, or alias of one, to revisions of the spec
	Skip  int              // so many are left out, because they could not be fired
	Limit int
}

// SchedulesFound is what is due.
type SchedulesFound struct {
	Now time.Time // by the database's clock
	Due []Schedule
	// Next is how long until another one is due, if fewer than the limit are; negative
	// when none will be.
	Next time.Duration
}

// ScheduleFire is what a worker does about a schedule that is due. Of the schedule it stores what
// comes next, the last fire and the last error, and the secrets.
type ScheduleFire struct {
	Schedule
	Tasks []NewTask
}

// ScheduleKey is the idempotency key of the task for a wall time. It is the same in whatever
// worker, and also after the schedule was made anew.
func ScheduleKey(name, wall, zone string) string {
	if zone == "" {
		zone = "UTC"
	}
	return "taskkit.schedule." + name + "@" + wall + " " + zone
}
