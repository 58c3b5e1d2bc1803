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

// expiration is a time after which a task must not execute, and why.
type expiration struct {
	why Expiry
	at  time.Time
}

// expirations returns the expirations of the task, in the order in which [Times.Expired] names them.
func (t Times) expirations(started time.Time, begun bool) (all []expiration) {
	if !begun && !t.LatestStart.IsZero() {
		all = append(all, expiration{StartedTooLate, t.LatestStart})
	}
	if !t.Deadline.IsZero() {
		all = append(all, expiration{DeadlineExceeded, t.Deadline})
	}
	if t.TimeLimit > 0 && !started.IsZero() {
		all = append(all, expiration{TimeExceeded, started.Add(t.TimeLimit)})
	}
	return all
}

// Expired returns whether the task must not execute any more, and says why. Begun: it has a
// checkpoint. Started is its first start; zero: it has none.
func (t Times) Expired(now, started time.Time, begun bool) (Expiry, string) {
	const format = time.RFC3339
	for _, e := range t.expirations(started, begun) {
		if !now.After(e.at) {
			continue
		}
		switch at := e.at.UTC().Format(format); e.why {
		case StartedTooLate:
			return e.why, fmt.Sprintf("it had to start by %s and could not: submit it again with another time", at)
		case DeadlineExceeded:
			return e.why, fmt.Sprintf("it had to end by %s: submit the rest again", at)
		default:
			return e.why, fmt.Sprintf("it had %s from its first start at %s: submit the rest again", t.TimeLimit, started.UTC().Format(format))
		}
	}
	return NotExpired, ""
}

// Expires returns when the task must not execute any more, see [Times.Expired]; the zero time stands for never.
func (t Times) Expires(started time.Time, begun bool) (at time.Time) {
	for _, e := range t.expirations(started, begun) {
		if at.IsZero() || e.at.Before(at) {
			at = e.at
		}
	}
	return at
}
