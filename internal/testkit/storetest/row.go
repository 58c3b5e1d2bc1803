package storetest

import (
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// rowOf returns the columns of a task that the rules of the lifecycle read and
// write.
func rowOf(t store.Task) lifecycle.Row {
	return lifecycle.Row{
		Status: t.Status, Control: t.Control, ControlBy: t.ControlBy, ControlReason: t.ControlReason, Partial: t.Partial,
		Fence: t.Fence, Seq: t.Seq, Attempts: t.Attempts,
		Process: t.Process, Scheduled: t.Scheduled, Started: t.LeaseStarted, FirstStarted: t.Started, Stopped: t.Stopped,
		NotBefore: t.NotBefore, Stalled: t.Stalled, Priority: t.Priority, Desc: t.StatusDetail, WaitingReason: t.WaitingReason,
		State: t.State, Revision: t.Revision, SpecRevision: t.SpecRevision, Secrets: t.Secrets, Progress: t.Progress,
	}
}

// nowInRules is the time of a change that sameRow expects. The database's own is
// not known.
var nowInRules = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// sameRow compares all columns of a task with a row that a rule has made of before
// at nowInRules. In its place the task may have any time that is not before since.
func sameRow(e *env, what string, got store.Task, want lifecycle.Row, since time.Time) {
	e.Helper()
	row := rowOf(got)
	for _, c := range []struct{ got, want **time.Time }{
		{&row.Scheduled, &want.Scheduled},
		{&row.Started, &want.Started},
		{&row.FirstStarted, &want.FirstStarted},
		{&row.Stopped, &want.Stopped},
	} {
		if *c.got != nil && *c.want != nil && sameTime(**c.got, **c.want, since) {
			*c.got, *c.want = nil, nil
		}
	}
	if sameTime(row.NotBefore, want.NotBefore, since) {
		row.NotBefore = want.NotBefore
	}
	is(e, what+": the row", showRow(row), showRow(want))
}

// sameTime reports whether a time is the wanted one.
func sameTime(got, want, since time.Time) bool {
	if want.Equal(nowInRules) {
		return !got.Before(since)
	}
	return got.Equal(want)
}

// showRow is a row as text.
func showRow(r lifecycle.Row) string {
	var times strings.Builder
	for _, t := range []*time.Time{r.Scheduled, r.Started, r.FirstStarted, r.Stopped} {
		fmt.Fprint(&times, " ", t)
	}
	state := string(r.State)
	r.Scheduled, r.Started, r.FirstStarted, r.Stopped, r.State = nil, nil, nil, nil, nil
	return fmt.Sprintf("%+v state %s%s", r, state, times.String())
}
