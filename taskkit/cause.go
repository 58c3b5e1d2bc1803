package taskkit

import (
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/taskcause"
)

// Cause returns why the task is where it is, as far as the task itself says it. Whether a worker can take a task that is
// due, and whether its queue is paused, it does not say; [Client.Explain] reads that too.
func (t *Task) Cause() taskcause.Cause {
	switch {
	case t.Partial:
		return taskcause.Stopped
	case t.Status == StatusCompleted:
		return taskcause.Done
	case t.Status == StatusFailure:
		return taskcause.Failed
	case t.Status == StatusError && strings.HasPrefix(t.StatusDetail, classify.CodeCrashLoop+":"):
		return taskcause.CrashLoop
	case t.Status == StatusError:
		return taskcause.NotRun
	case t.Control != "" && (t.Control != ControlPause || t.Status != StatusQueued):
		return taskcause.Requested
	case t.Status != StatusQueued && t.triedBefore():
		return taskcause.TriedAgain
	case t.Status != StatusQueued:
		return taskcause.Running
	case t.Control == ControlPause:
		return pauseCause(t.ControlReason)
	}
	return waitCause(t)
}

// pauseCause returns the cause of a pause for a reason.
func pauseCause(reason string) taskcause.Cause {
	switch {
	case strings.HasPrefix(reason, lifecycle.ReasonApproval):
		return taskcause.Approval
	case strings.Contains(reason, lifecycle.ReasonStopPolicy):
		return taskcause.StopPolicy
	case strings.HasPrefix(reason, lifecycle.ReasonStrategy), strings.HasPrefix(reason, lifecycle.ReasonPolicy):
		return taskcause.Rule
	case strings.Contains(reason, lifecycle.ReasonChildFailed):
		return taskcause.ChildFailed
	}
	return taskcause.Paused
}

// waitCause returns the cause of a task that is QUEUED and neither paused nor to be ended.
func waitCause(t *Task) taskcause.Cause {
	c := taskcause.Cause(lifecycle.WaitCause(t.WaitingReason))
	if t.Wait <= 0 && c != taskcause.Throttled { // when it is due its indicators are read again
		return taskcause.Due
	}
	return c
}

// lostWorkers is from how many lost workers on a running task is more than a takeover.
const lostWorkers = 2

// cause refines the cause of a task by what else is known, and says why if no worker can take it.
func (f *facts) cause(t *Task) (c taskcause.Cause, why string) {
	c = t.Cause()
	switch {
	case t.Ended():
		return c, ""
	case t.Status != StatusQueued:
		return f.claimedCause(t, c), ""
	case t.Control == ControlPause:
		conditions, p := f.background(t).Options.Conditions, t.counted()
		switch {
		case c != taskcause.Paused:
		case conditions.AwaitsApproval(p):
			c = taskcause.Approval
		case conditions.StopAfter.Reached(p):
			c = taskcause.StopPolicy
		}
		return c, ""
	}
	none, why := f.unable(t)
	switch {
	case t.Control != "":
		if none == taskcause.SlotsBusy {
			none = ""
		}
	case c == taskcause.Children:
		return c, ""
	case f.pauseOf(t) != nil:
		return taskcause.QueuePaused, ""
	case c == taskcause.Throttled && none == taskcause.SlotsBusy:
		return c, ""
	case c != taskcause.Due && c != taskcause.Throttled:
		return c, ""
	}
	if none != "" {
		return none, why
	}
	return c, ""
}

// counted is the progress of the task as conditions count it.
func (t *Task) counted() lifecycle.Progress {
	return lifecycle.Progress{Done: t.Progress.Done, Failed: t.Progress.Failed, Skipped: t.Progress.Skipped}
}

// claimedCause is cause for a task that a worker has claimed.
func (f *facts) claimedCause(t *Task, c taskcause.Cause) taskcause.Cause {
	switch w := f.worker(t.Worker); {
	case w != nil && w.Ended != nil:
		return taskcause.WorkerEnded
	case w == nil || !w.Alive():
		return taskcause.WorkerSilent
	case c == taskcause.TriedAgain && f.tries(t).lost >= lostWorkers:
		return taskcause.WorkersLost
	}
	return c
}

// unable returns why no worker can claim a due task now; "" if one can.
func (f *facts) unable(t *Task) (taskcause.Cause, string) {
	if f.rowOnly {
		return "", ""
	}
	var alive, draining, safe, active, knows, reads, serves, slots, busy int
	for _, w := range f.workers {
		if !w.Alive() {
			continue
		}
		alive++
		switch {
		case w.Draining:
			draining++
			continue
		case w.SafeMode:
			safe++
			continue
		}
		active++
		if _, ok := w.Kinds[t.Kind]; ok {
			knows++
		}
		if slices.Contains(w.Kinds[t.Kind], t.Revision) {
			reads++
		}
		if canTake(w, t) {
			serves++
			slots, busy = slots+w.Slots, busy+w.Busy
		}
	}
	switch {
	case serves > 0 && slots > 0 && busy >= slots:
		return taskcause.SlotsBusy, fmt.Sprintf("all slots (%d) of the live workers that can take it (%d) are busy", slots, serves)
	case serves > 0:
		return "", ""
	case alive == 0:
		return taskcause.NoWorker, "no worker is alive"
	case active == 0 && safe > 0:
		return taskcause.SafeMode, fmt.Sprintf("all live workers (%d) are in safe mode and claim nothing", alive)
	case active == 0:
		return taskcause.Draining, fmt.Sprintf("all live workers (%d) are shutting down", alive)
	case knows == 0:
		return taskcause.UnknownKind, fmt.Sprintf("no live worker (of %d) knows the kind %s", active, t.Kind)
	case reads == 0:
		return taskcause.UnknownRevision, fmt.Sprintf("no live worker reads revision %d of %s", t.Revision, t.Kind)
	}
	return taskcause.QueueNotServed, fmt.Sprintf("no live worker that knows %s serves the queue %s", t.Kind, t.Queue)
}

// able counts the live workers that can take a task.
func (f *facts) able(t *Task) (n int) {
	for _, w := range f.workers {
		if canTake(w, t) {
			n++
		}
	}
	return n
}
