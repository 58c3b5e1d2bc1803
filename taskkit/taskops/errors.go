package taskops

import (
	"errors"
	"fmt"
)

// ErrNoSchedule: there is no such schedule. It may have been deleted.
var ErrNoSchedule = errors.New("taskkit: no such schedule")

// ScheduleError: a schedule was refused before anything was stored.
type ScheduleError struct {
	Schedule string // its name
	Field    string // Name, Kind, Spec, Cron, Zone or Misfire
	Problem  string
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("taskkit: %s of schedule %q refused, nothing was stored: %s", e.Field, e.Schedule, e.Problem)
}
