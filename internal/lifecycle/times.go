package lifecycle

import (
	"fmt"
	"time"
)

// Times are when a task may execute. They are stored beside the task. The zero value is always.
type Times struct {
	// Window is the text of a [Window]; "": always open.
	Window string `json:"window,omitempty"`
	// LatestStart: a task that has no checkpoint by then fails.
	LatestStart time.Time `json:"latest_start,omitzero"`
	// Deadline: a task that has not ended by then fails.
	Deadline time.Time `json:"deadline,omitzero"`
	// TimeLimit, if positive: a task that has not ended so long after its first start fails.
	TimeLimit time.Duration `json:"time_limit,omitempty"`
}

// Expiry is why a task must not execute any more.
type Expiry string

// The expiries, which are also the codes of the failures.
const (
	NotExpired       Expiry = ""
	StartedTooLate   Expiry = "started_too_late"
	DeadlineExceeded Expiry = "deadline_exceeded"
	TimeExceeded     Expiry = "time_limit_exceeded"
)

// Expired returns whether the task must not execute any more, and says why. Begun: it has a
// checkpoint. Started is its first start; zero: it has none.
func (t Times) Expired(now, started time.Time, begun bool) (Expiry, string) {
	const format = time.RFC3339
	switch {
	case !begun && !t.LatestStart.IsZero() && now.After(t.LatestStart):
		return StartedTooLate, fmt.Sprintf("it had to start by %s and could not: submit it again with another time", t.LatestStart.UTC().Format(format))
	case !t.Deadline.IsZero() && now.After(t.Deadline):
		return DeadlineExceeded, fmt.Sprintf("it had to end by %s: submit the rest again", t.Deadline.UTC().Format(format))
	case t.TimeLimit > 0 && !started.IsZero() && now.After(started.Add(t.TimeLimit)):
		return TimeExceeded, fmt.Sprintf("it had %s from its first start at %s: submit the rest again", t.TimeLimit, started.UTC().Format(format))
	}
	return NotExpired, ""
}
