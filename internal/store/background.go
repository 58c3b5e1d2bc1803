package store

import (
	"time"

	"github.com/google/uuid"
)

// BackgroundQuery names tasks of which more is to be read than their rows, by what is to be read.
type BackgroundQuery struct {
	Options  []uuid.UUID
	Attempts []uuid.UUID
	Requests []uuid.UUID
	Limits   []uuid.UUID
}

// Background is what was read of a task. What no list of the query names has its zero value.
type Background struct {
	Options Options
	// Attempts are the failed attempts at its checkpoint, the newest first. Their details are cut to [BackgroundDetail] characters.
	Attempts []Attempt
	// Stopped is the newest request to stop the task that did not come after its end. Retried is
	// when it was retried last by a request. Both are zero if there was none.
	Stopped Event
	Retried time.Time
	// Limit is the limit under which the task waits for a permit; nil: under none.
	Limit *LimitTasks
}

// BackgroundDetail is how many characters of the detail of an attempt are read.
const BackgroundDetail = 2000

// LimitTasks are the tasks that have the permits of a key.
type LimitTasks struct {
	Key       string
	Executing int64
	First     []PermitTask // at most [PermitTasksMax], by their ids
}

// PermitTask is a task that has a permit, and the process that has claimed it.
type PermitTask struct {
	Task    uuid.UUID
	Process string
}

// PermitTasksMax is how many tasks with a permit of a key are read.
const PermitTasksMax = 3
