// Package notice has what notifications are about, as data: the events of a task, who subscribes to them, and the notification
// itself. A kind names its subscriptions in its directive (notify=ops:dead_letter), and a submission gives them with
// taskkit.WithNotifications. Package tasknotify delivers them.
package notice

import (
	"time"

	"github.com/google/uuid"
)

// Kind is the stored name of the kind whose tasks deliver notifications, one each. Package tasknotify executes them.
const Kind = "taskkit_notification"

// Event is what a notification is about.
type Event string

// The events of a task.
const (
	Started   Event = "started"   // the task has begun for the first time
	Approval  Event = "approval"  // it waits for an approval before its first batch; a subscription has Canary too
	Canary    Event = "canary"    // its first items are processed, and it waits for an approval of the rest
	Policy    Event = "policy"    // a policy has fired, or the stop policy or the strategy has paused or stopped it
	Throttled Event = "throttled" // it has waited for an hour because the database is not well; once a day
	Overdue   Event = "overdue"   // its deadline is over and it has not ended: it is paused, in a batch, or has open children
	Completed Event = "completed" // it has ended
	Partial   Event = "partial"   // it has ended because of a stop, before it was done, or without parts that were left out
	// DeadLetter: it has ended in FAILURE or ERROR. A subscription has Late too.
	DeadLetter Event = "dead_letter"
	// Late: it has ended in FAILURE because its deadline, its time limit or its latest start was over.
	Late Event = "late"
)

// Ended stands for Completed, Partial, DeadLetter and Late in a [Subscription]. No notification has it.
const Ended Event = "ended"

// The events of a finding about the system, which a program submits itself, see tasknotify.Submit.
const (
	FindingOpened Event = "finding_opened"
	FindingClosed Event = "finding_closed"
)

// events are the events that a subscription can name.
var events = []Event{Started, Approval, Canary, Policy, Throttled, Overdue, Completed, Partial, DeadLetter, Late, Ended}

// Notice is a notification to one target. It has identifiers and counts, and neither spec nor state nor the text of an error.
type Notice struct {
	Event  Event  `json:"event"`
	Target string `json:"target"`
	// Task is the task that the notification is about. A finding has none.
	Task uuid.UUID `json:"task,omitzero"`
	// Kind and Queue are of the task.
	Kind  string    `json:"kind,omitempty"`
	Queue string    `json:"queue,omitempty"`
	Owner uuid.UUID `json:"owner,omitzero"`
	// Status is the status of the task at the event.
	Status string `json:"status,omitempty"`
	// Code says why a task has ended in FAILURE or ERROR, or names a finding.
	Code    string `json:"code,omitempty"`
	Preview bool   `json:"preview,omitempty"`
	// Done, Failed and Skipped count items, with those of the parts of the task. Total is how many there are; 0: it is unknown.
	Done    int64 `json:"done,omitempty"`
	Failed  int64 `json:"failed,omitempty"`
	Skipped int64 `json:"skipped,omitempty"`
	Total   int64 `json:"total,omitempty"`
	// At is the time of the event, by the clock of the database; of Approval, by the clock of the program that submits.
	At time.Time `json:"at"`
}
