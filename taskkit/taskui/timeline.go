package taskui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// entry is what happened to a task at a time.
type entry struct {
	At     time.Time
	Class  string // "good", "failed" or ""
	Text   string
	Detail string // for operators only
}

// timeline reads what happened to a task, the latest first: its own times, the requests made of it, and its failed attempts.
func (r *request) timeline(ctx context.Context, t *taskkit.Task) ([]entry, error) {
	all := []entry{{At: t.Created, Text: "submitted" + because(t.Reason)}}
	if t.Stopped != nil {
		all = append(all, ending(t))
	}
	events, err := r.d.client.Events(ctx, t.ID, shownEvents)
	if err != nil {
		return nil, err
	}
	all = append(all, r.starts(t, events)...)
	for _, e := range events {
		if e.Worker != "" {
			all = append(all, r.lostWorker(e))
			continue
		}
		text := e.Action + " requested"
		if e.Actor != uuid.Nil && (r.operator() || e.Actor == r.who.ID) {
			text += " by " + r.personName(e.Actor)
		}
		all = append(all, entry{At: e.Created, Text: text + because(e.Reason)})
	}
	attempts, err := r.d.client.Attempts(ctx, t.ID, shownAttempts)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		e := entry{At: a.Created, Class: "failed", Text: fmt.Sprintf("attempt %d failed: %s", a.Attempt, cmp.Or(a.Code, "failed"))}
		if r.operator() {
			e.Text += fmt.Sprintf(" (%s), at checkpoint %d on worker %s", a.Class, a.Checkpoint, a.Worker)
			e.Detail = clean(a.Detail)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.At.Compare(a.At) })
	for i := range all {
		all[i].Text = clean(all[i].Text)
	}
	return all, nil
}

// lostWorker returns the loss of a worker. Its name and when it was last heard of are for operators.
func (r *request) lostWorker(e taskkit.Event) entry {
	text := "worker lost"
	if r.operator() {
		text = "worker " + e.Worker + " lost " + e.Reason
	}
	return entry{At: e.Created, Class: "failed", Text: text + "; what it has committed is not done again"}
}

// starts returns the first and the latest start of a task, the latest with how long before that it lost its worker, if that is
// among these events, the newest first.
func (r *request) starts(t *taskkit.Task, events []taskkit.Event) (all []entry) {
	if t.Started == nil {
		return nil
	}
	all = append(all, entry{At: *t.Started, Text: "started"})
	if t.LeaseStarted != nil && t.LeaseStarted.After(*t.Started) {
		again := entry{At: *t.LeaseStarted, Text: "continued"}
		if r.operator() && t.Worker != "" {
			again.Text += " by worker " + t.Worker
		}
		again.Text += fmt.Sprintf(", claim %d", t.Fence)
		all = append(all, again)
	}
	latest := &all[len(all)-1]
	if i := slices.IndexFunc(events, func(e taskkit.Event) bool { return e.Worker != "" && e.Created.Before(latest.At) }); i >= 0 {
		if after := latest.At.Sub(events[i].Created); after < time.Minute {
			latest.Class, latest.Text = "good", latest.Text+fmt.Sprintf(", %.1f s after the worker was lost", after.Seconds())
		}
	}
	return all
}

// ending returns how a task has ended.
func ending(t *taskkit.Task) entry {
	e := entry{At: *t.Stopped, Text: statusText(t) + ": " + progressText(t.Progress)}
	switch {
	case hasFailed(t):
		e.Class = "failed"
		code, _ := splitDetail(t.StatusDetail)
		e.Text = "failed with " + code + " after " + progressText(t.Progress)
	case !t.Partial:
		e.Class = "good"
	}
	return e
}

// because returns a reason in words.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// personName returns how the page calls a person.
func (r *request) personName(id uuid.UUID) string {
	if id == r.who.ID && id != uuid.Nil {
		return r.who.display()
	}
	return person(id)
}

// shortName is personName for a list.
func (r *request) shortName(id uuid.UUID) string {
	if name := r.personName(id); name != id.String() {
		return name
	}
	return short(id)
}

// person returns a person as searches have it.
func person(id uuid.UUID) string {
	switch id {
	case uuid.Nil:
		return "unknown"
	case taskkit.SystemOwner:
		return "system"
	default:
		return id.String()
	}
}
