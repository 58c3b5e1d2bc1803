package faultinject_test

import (
	"fmt"
	"strings"
)

// action is what is done at a message or call.
type action string

// The actions. The last five are SQLite's, where a call fails and nothing is
// cut.
const (
	none      action = "none"
	cutBefore action = "cut before"
	cutAfter  action = "cut after"
	delay     action = "delay"
	silence   action = "silence"
	terminate action = "terminate backend"
	stop      action = "SIGSTOP"
	kill      action = "SIGKILL"

	failBefore  action = "fail before"
	failAfter   action = "fail after"
	breakBefore action = "break before"
	breakAfter  action = "break after"
	busyBefore  action = "busy before"
)

// ownProcess reports whether the action needs a worker process.
func (a action) ownProcess() bool { return a == stop || a == kill }

// fault is one of a plan.
type fault struct {
	number int
	action action
}

// plan is one run.
type plan struct {
	faults []fault
	// patient: the healthy worker comes when the harmed one has had its time;
	// otherwise as soon as a fault strikes.
	patient bool
	// sure: a fault strikes, however long it takes, and the healthy worker waits for
	// it.
	sure bool
	// knownFailure: it has shown a failure that is known, see outcome.known.
	knownFailure bool
}

func (p plan) String() string {
	var b strings.Builder
	for i, f := range p.faults {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s at %d", f.action, f.number)
	}
	if p.patient {
		b.WriteString(", healthy worker late")
	}
	return b.String()
}

// singles returns a plan for every position up to n and every action. Who may
// take over, and when, alternates.
func singles(n int, actions []action) []plan {
	var plans []plan
	for i := 1; i <= n; i++ {
		for k, a := range actions {
			plans = append(plans, plan{faults: []fault{{i, a}}, patient: (i+k)%2 == 0})
		}
	}
	return plans
}
