package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
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
	Overlap     string // skip, buffer or allow; "" is stored as allow
	Options     string // of its tasks, see [ScheduleOptions]; "": none
	Paused      bool
	PausedBy    uuid.UUID
	PauseReason string

	NextAt   time.Time // zero: never
	NextWall string
	// Late is for how long the next fire has been due by the database's clock, unless the schedule is paused. Only [Ops] reads it.
	Late time.Duration
	// Overdue are fires by earlier expressions and zones that were due when these changed, in their order.
	Overdue []Overdue
	// Buffered is a wall time whose task waits for the end of the last one, with its zone; "": none.
	Buffered string

	Triggered     bool // a task is to be submitted at once, paused or not
	TriggeredBy   uuid.UUID
	TriggerReason string

	LastAt      time.Time // zero: it has submitted nothing yet
	LastWall    string    // "": it was triggered
	LastTask    uuid.UUID
	LastError   string
	LastErrorAt time.Time
	// LastOpen: the last task has not ended. Only [Upkeep].DueSchedules reads it.
	LastOpen bool

	// Replaced is a hash of the definition before the last change, and Alternations how often in a row a change went
	// back to that.
	Replaced     string
	Alternations int

	// ModifiedBy is who last changed it, and the others are read only.
	ModifiedBy uuid.UUID
	// ChangeReason is why it is being changed. It is recorded with the change, and not read back.
	ChangeReason      string
	CreatedBy         uuid.UUID
	Created, Modified time.Time
}

// Overdue are the fires of a schedule from a wall time on that were due when its expression or its zone changed.
type Overdue struct {
	Cron  string    `json:"cron"`
	Zone  string    `json:"zone"`
	Wall  string    `json:"wall"`
	Until time.Time `json:"until"` // the change
}

// overdueMost is how many changes while something was due are kept apart. The last one then stands for those after it too.
const overdueMost = 100

// AddOverdue keeps the fires that are due at a change.
func (s *Schedule) AddOverdue(o Overdue) {
	if n := len(s.Overdue); n == overdueMost {
		s.Overdue = slices.Clone(s.Overdue)
		s.Overdue[n-1].Until = o.Until
		return
	}
	s.Overdue = append(slices.Clip(s.Overdue), o)
}

// ScheduleOptions are the options of the tasks of a schedule, besides those with a column.
type ScheduleOptions struct {
	UniqueKey string  `json:"unique_key,omitempty"`
	Limits    []Limit `json:"limits,omitempty"`
	lifecycle.Times
	Keep time.Duration `json:"keep,omitempty"` // see [Options.Keep]
}

// Encode returns the options as they are stored; "" for none.
func (o ScheduleOptions) Encode() (string, error) {
	if o.UniqueKey == "" && len(o.Limits) == 0 && o.Times == (lifecycle.Times{}) && o.Keep == 0 {
		return "", nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encode the options of a schedule: %w", err)
	}
	return string(text), nil
}

// DecodeScheduleOptions decodes stored options; "" stands for none.
func DecodeScheduleOptions(text string) (o ScheduleOptions, err error) {
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return o, fmt.Errorf("decode the options of a schedule: %w", err)
	}
	return o, nil
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
	// Tasks are stored. One whose unique key another task has is not, and gets the zero id.
	Tasks []NewTask
	// Former is the last task if none of Tasks is stored.
	Former uuid.UUID
}

// ScheduleKey is the idempotency key of the task for a wall time. It is the same in whatever
// worker, and also after the schedule was made anew.
func ScheduleKey(name, wall, zone string) string {
	if zone == "" {
		zone = "UTC"
	}
	return "taskkit.schedule." + name + "@" + wall + " " + zone
}
