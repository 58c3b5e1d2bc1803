package taskbulk

import (
	"fmt"
	"strings"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit"
)

// Verb is the request that a bulk operation makes of each task.
type Verb string

// The verbs. A filter without statuses selects the statuses of tasks that the verb is for.
const (
	// Retry is [taskkit.Client.Retry], of tasks in ERROR or FAILURE.
	Retry Verb = "retry"
	// Stop is [taskkit.Client.Stop], of tasks that have not ended. It needs a reason.
	Stop Verb = "stop"
	// Pause is [taskkit.Client.Pause], of tasks that have not ended and are neither paused nor about to end.
	Pause Verb = "pause"
	// Resume is [taskkit.Client.Resume], of paused tasks.
	Resume Verb = "resume"
	// Delete is [taskkit.Client.Delete], of all tasks. It needs a reason.
	Delete Verb = "delete"
)

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Retry, Stop, Pause, Resume, Delete} }

// rules are how a verb is carried out.
type rules struct {
	action lifecycle.Action
	// statuses are the statuses of the tasks that it is for.
	statuses []taskkit.Status
	// past names what has become of a task: "retried".
	past string
	// control is the request that stands on a task afterwards, if it has not ended.
	control lifecycle.Control
	// selects reports whether the request would change a task with one of the statuses and this request on it.
	selects func(c lifecycle.Control) bool
	reason  bool // it needs one
	paused  bool // it is for paused tasks, which have an index
}

var live = []taskkit.Status{taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting}

// of returns how a verb is carried out.
func of(v Verb) (rules, bool) {
	switch v {
	case Retry:
		return rules{
			action: lifecycle.ActRetry, past: "retried", statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure},
			selects: func(c lifecycle.Control) bool { return c != lifecycle.Delete },
		}, true
	case Stop:
		return rules{
			action: lifecycle.ActStop, past: "stopped", statuses: live, control: lifecycle.Stop, reason: true,
			selects: func(c lifecycle.Control) bool { return !c.Ends() },
		}, true
	case Pause:
		return rules{
			action: lifecycle.ActPause, past: "paused", statuses: live, control: lifecycle.Pause,
			selects: func(c lifecycle.Control) bool { return c == lifecycle.None },
		}, true
	case Resume:
		return rules{
			action: lifecycle.ActResume, past: "resumed", statuses: live, paused: true,
			selects: func(c lifecycle.Control) bool { return c == lifecycle.Pause },
		}, true
	case Delete:
		return rules{
			action: lifecycle.ActDelete, past: "deleted", control: lifecycle.Delete, reason: true,
			statuses: append([]taskkit.Status{taskkit.StatusCompleted, taskkit.StatusError, taskkit.StatusFailure}, live...),
			selects:  func(c lifecycle.Control) bool { return c != lifecycle.Delete },
		}, true
	default:
		return rules{}, false
	}
}

// check returns an error for a verb that there is not.
func (v Verb) check() error {
	if _, ok := of(v); ok {
		return nil
	}
	return refuse("Verb", fmt.Sprintf("%.70q is no verb: use one of %s", string(v), joined(Verbs())))
}

// joined are words for a sentence.
func joined[T ~string](words []T) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = string(w)
	}
	return strings.Join(parts, ", ")
}
