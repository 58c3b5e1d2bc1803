package lifecycle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Identity is what must be equal of a waiting task and of a submission that is
// merged into it: whose rights the work has, and where it runs.
type Identity struct {
	Owner, RunAs uuid.UUID
	Queue        string
	UniqueKey    string // equal, or "" on one side
}

// Differences names what keeps a submission from being merged into a waiting
// task. There are none if it can be.
func (i Identity) Differences(submitted Identity) []string {
	var names []string
	for _, c := range []struct {
		name   string
		differ bool
	}{
		{"owner", i.Owner != submitted.Owner},
		{"run-as", i.RunAs != submitted.RunAs},
		{"queue", i.Queue != submitted.Queue},
		{"unique key", i.UniqueKey != "" && submitted.UniqueKey != "" && i.UniqueKey != submitted.UniqueKey},
	} {
		if c.differ {
			names = append(names, c.name)
		}
	}
	return names
}

// Coalescible reports whether a submission with the same reference may replace
// the row's: the task waits, is not about to end, and is [Replaceable]. failed
// says that an attempt has failed since the last checkpoint.
func (r Row) Coalescible(failed bool) bool {
	return r.Status == Queued && !r.Control.Ends() && Replaceable(r.halfDone(), failed)
}

// Replaceable reports whether a waiting task may begin anew for another spec. One
// that is half done goes on with its work, as if it were running: it only waits
// because its batch asked to continue later, or because it gave its slot back or
// lost its worker. One that waits for a retry does not: the newer spec would run
// first otherwise, and the older one last.
func Replaceable(halfDone, failed bool) bool { return failed || !halfDone }

// halfDone reports whether the row holds a part of the task's work: a state, or
// items that were counted.
func (r Row) halfDone() bool {
	p := r.Progress
	return len(r.State) > 0 && string(r.State) != "{}" || max(p.Position, p.Done, p.Failed, p.Skipped) > 0
}

// Coalesce returns the row after a submission was merged into it. submitted is
// the row that the submission would have inserted otherwise. The task begins
// anew, under its fence and with its checkpoint_seq, so that late writes of
// former holders are still recognized. The higher priority wins, with earlier also the earlier
// time, and a pause stays.
func (r Row) Coalesce(submitted Row, earlier bool) Row {
	if earlier && submitted.NotBefore.After(r.NotBefore) {
		submitted.NotBefore = r.NotBefore
	}
	submitted.Priority = min(submitted.Priority, r.Priority)
	submitted.Control, submitted.ControlBy, submitted.ControlReason = r.Control, r.ControlBy, r.ControlReason
	submitted.Fence, submitted.Seq = r.Fence, r.Seq
	submitted.State = json.RawMessage("{}")
	return submitted
}

// CodeSuperseded is the code of a task that ended because of a newer submission of its reference.
const CodeSuperseded = "superseded"

// SupersededBy describes the end of a waiting task beside the one that took a submission of their reference.
func SupersededBy(task uuid.UUID) string {
	return CodeSuperseded + ": task " + task.String() + " took a newer submission of the reference"
}

// SupersededByVersion describes the end of a task that was not executed, or not any more, because of a newer version.
func SupersededByVersion(version, newest int64) string {
	return fmt.Sprintf(CodeSuperseded+": version %d of the reference was submitted after version %d", newest, version)
}

// Supersede returns the row after the end that [SupersededBy] describes.
func (r Row) Supersede(by uuid.UUID, now time.Time) Row {
	r, _ = r.Request(Change{Effect: Ended, Desc: SupersededBy(by)}, uuid.Nil, "", now)
	return r
}
