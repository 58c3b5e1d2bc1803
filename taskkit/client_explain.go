package taskkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Explain describes in one sentence the state of a task and, if it is not
// running, why.
func (c *Client) Explain(ctx context.Context, id ID) (string, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return "", err
	}
	workers, err := c.workers(ctx)
	if err != nil {
		return "", err
	}
	attempts, err := c.Attempts(ctx, id, 1)
	if err != nil {
		return "", err
	}
	if t.Partial {
		// What was requested of a task that has ended is in its events only.
		events, err := c.Events(ctx, id, explainEvents)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(events, func(e Event) bool { return e.Action == string(lifecycle.ActStop) && !e.FromStatus.Ended() }); i >= 0 {
			t.ControlBy, t.ControlReason = events[i].Actor, events[i].Reason
		}
	}
	var conditions lifecycle.Conditions
	if t.Control == ControlPause {
		op, err := c.tables(ctx)
		if err != nil {
			return "", err
		}
		options, err := op.TaskOptions(ctx, id)
		if err != nil {
			return "", c.public(ctx, err)
		}
		conditions = options.Conditions
	}
	var pause *store.QueuePause
	if t.Status == StatusQueued {
		if pause, err = c.pauseOf(ctx, t.Queue); err != nil {
			return "", err
		}
	}
	return explain(t, workers, attempts, conditions, pause), nil
}

// pauseOf returns the pause of a queue, or nil if it is not paused.
func (c *Client) pauseOf(ctx context.Context, queue string) (*store.QueuePause, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	pauses, err := op.PausedQueues(ctx)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	for i, p := range pauses {
		if p.Queue == queue && p.Paused {
			return &pauses[i], nil
		}
	}
	return nil, nil
}

// explainEvents is how many events are searched for who stopped a task.
const explainEvents = 20

// explain describes a task from what was read of it. It is pure. The pause is that of its queue; nil:
// that is not paused.
func explain(t *Task, workers []store.Process, attempts []Attempt, conditions lifecycle.Conditions, pause *store.QueuePause) string {
	return explainState(t, workers, attempts, conditions, pause) + falselyDead(t, workers)
}

func explainState(t *Task, workers []store.Process, attempts []Attempt, conditions lifecycle.Conditions, pause *store.QueuePause) string {
	last := ""
	if len(attempts) > 0 {
		// It may have made checkpoints since.
		if a := attempts[0]; a.Checkpoint == t.Checkpoints {
			last = fmt.Sprintf("; its last attempt failed with %s at checkpoint %d", a.Code, a.Checkpoint)
		}
	}
	switch {
	case t.Partial:
		return fmt.Sprintf("It was stopped%s after %s; what it did until then stays.", by(t), items(t))
	case t.Status == StatusCompleted:
		return fmt.Sprintf("It is done: %s in %s.", items(t), round(t.Elapsed))
	case t.Status == StatusFailure:
		return fmt.Sprintf("It failed after %s: %s. Retry continues from checkpoint %d.", items(t), t.StatusDetail, t.Checkpoints)
	case t.Status == StatusError:
		return fmt.Sprintf("The runtime could not run it: %s. Retry continues from checkpoint %d.", t.StatusDetail, t.Checkpoints)
	case t.Status != StatusQueued:
		return explainClaimed(t, workers, last)
	case t.Control == ControlPause:
		return fmt.Sprintf("It is paused%s at checkpoint %d; %s.", by(t), t.Checkpoints, continues(t, conditions))
	}
	able, why := able(t, workers)
	switch {
	case t.Control != "" && able == 0:
		return fmt.Sprintf("It is to be ended (%s) and waits for a worker: %s.", t.Control, why)
	case t.Wait > 0 && t.WaitingReason == lifecycle.ReasonChildren:
		return fmt.Sprintf("It waits for its children%s%s.", children(t), last)
	case t.Wait > 0 && t.WaitingReason == lifecycle.ReasonEndingChildren:
		return fmt.Sprintf("It ends once its children have ended%s%s.", children(t), last)
	case pause != nil && t.Control == "":
		return fmt.Sprintf("It waits because its queue %s has been paused%s for %s; it can be claimed once the queue is resumed%s%s.",
			t.Queue, byWhom(pause.PausedBy, pause.PausedReason), round(pause.SincePaused), after(t), last)
	case t.Wait > 0 && strings.HasPrefix(t.WaitingReason, lifecycle.ReasonNoPermit):
		return fmt.Sprintf("It %s%s.", t.WaitingReason, last)
	case able > 0 && strings.HasPrefix(t.WaitingReason, lifecycle.ReasonThrottled):
		return fmt.Sprintf("It is %s. It waits at checkpoint %d with %s, and its indicators are read again %s%s.",
			t.WaitingReason, t.Checkpoints, items(t), inTime(t.Wait), last)
	case t.Wait > 0:
		reason := cmp.Or(t.WaitingReason, t.Reason, "it was submitted for later")
		return fmt.Sprintf("It waits for its time, %s from now (%s)%s.", round(t.Wait), reason, last)
	case able == 0:
		return fmt.Sprintf("It is due but no worker can take it: %s.", why)
	default:
		return fmt.Sprintf("It is due and waits for a free slot; live workers that can take it: %d%s.", able, last)
	}
}

// inTime says when something is due.
func inTime(wait time.Duration) string {
	if wait <= 0 {
		return "now"
	}
	return round(wait) + " from now"
}

// children says what has become of the children of a task.
func children(t *Task) string {
	c := t.Children
	if c == nil {
		return ""
	}
	s := fmt.Sprintf(": %d are open, and %d have ended", c.Open, c.Completed+c.Stopped+c.Failed)
	if c.Failed > 0 {
		s += fmt.Sprintf(", %d of them failed", c.Failed)
	}
	return s
}

// falselyDead says how many workers ran although they had been declared dead, while that
// may concern the task.
func falselyDead(t *Task, workers []store.Process) string {
	n := 0
	for _, w := range workers {
		if w.FoundAlive != nil {
			n++
		}
	}
	if n == 0 || t.Status.Ended() {
		return ""
	}
	return fmt.Sprintf(" Workers that were declared dead in the last hour although they ran: %d.", n)
}

func explainClaimed(t *Task, workers []store.Process, last string) string {
	doing := "is being prepared by"
	if t.Status == StatusExecuting {
		doing = "is running on"
	}
	request := ""
	if t.Control != "" {
		request = fmt.Sprintf("; %s%s was requested and takes effect at the next batch boundary", t.Control, by(t))
	}
	i := slices.IndexFunc(workers, func(w store.Process) bool { return w.ID == t.Worker })
	if i >= 0 && workers[i].Ended != nil {
		return fmt.Sprintf("Its worker %s has ended (%s); any other worker will take it over%s%s.", t.Worker, workers[i].EndReason, request, last)
	}
	if i < 0 || !workers[i].Alive() {
		silent := "an unknown time"
		if i >= 0 {
			silent = round(workers[i].Silence)
		}
		return fmt.Sprintf("Its worker %s has been silent for %s; any other worker will take it over%s%s.", t.Worker, silent, request, last)
	}
	return fmt.Sprintf("It %s worker %s, at checkpoint %d with %s%s%s.", doing, t.Worker, t.Checkpoints, items(t), request, last)
}

// able counts the live workers that can run a task, and says why none can.
func able(t *Task, workers []store.Process) (n int, why string) {
	alive, safe, knows, reads, serves := 0, 0, 0, 0, 0
	for _, w := range workers {
		if !w.Alive() || w.Draining {
			continue
		}
		if w.SafeMode {
			safe++
			continue
		}
		alive++
		revisions, ok := w.Kinds[t.Kind]
		if !ok {
			continue
		}
		knows++
		if !slices.Contains(revisions, t.Revision) {
			continue
		}
		reads++
		if slices.Contains(w.Queues, t.Queue) {
			serves++
		}
	}
	switch {
	case serves > 0:
		return serves, ""
	case alive == 0 && safe > 0:
		return 0, fmt.Sprintf("all live workers (%d) are in safe mode and claim nothing", safe)
	case alive == 0:
		return 0, "no worker is alive"
	case knows == 0:
		return 0, fmt.Sprintf("no live worker (of %d) knows the kind %s", alive, t.Kind)
	case reads == 0:
		return 0, fmt.Sprintf("no live worker reads revision %d of %s", t.Revision, t.Kind)
	default:
		return 0, fmt.Sprintf("no live worker that knows %s serves the queue %s", t.Kind, t.Queue)
	}
}

// continues says what continues a paused task, and what else than the pause keeps it from going on.
func continues(t *Task, c lifecycle.Conditions) string {
	p := lifecycle.Progress{Done: t.Progress.Done, Failed: t.Progress.Failed, Skipped: t.Progress.Skipped}
	request := "resume"
	if c.AwaitsApproval(p) {
		request = "approve"
	}
	if c.StopAfter.Reached(p) {
		request += " with a higher limit"
	}
	if why := c.PauseReason(p); why != "" && why != t.ControlReason {
		return why + ": " + request + " continues it"
	}
	return request + " continues it"
}

func by(t *Task) string { return byWhom(t.ControlBy, t.ControlReason) }

// byWhom says who asked for something and why, as far as that is known.
func byWhom(person uuid.UUID, reason string) string {
	s := ""
	if person != uuid.Nil {
		s = " by " + person.String()
	}
	if reason != "" {
		s += fmt.Sprintf(" (%s)", reason)
	}
	return s
}

// after says how long a task still waits for its time, or for what else it waits.
func after(t *Task) string {
	switch {
	case t.Wait <= 0:
		return ""
	case strings.HasPrefix(t.WaitingReason, lifecycle.ReasonNoPermit):
		return ", and it " + t.WaitingReason
	}
	return ", and not before its time, " + round(t.Wait) + " from now"
}

func items(t *Task) string {
	p := t.Progress
	if t.Found != nil {
		return fmt.Sprintf("%d items (finding its targets: %d so far)", p.Processed(), *t.Found)
	}
	s := fmt.Sprintf("%d items", p.Processed())
	if p.Total >= 0 {
		s = fmt.Sprintf("%d of %d items", p.Processed(), p.Total)
	}
	if p.Failed > 0 {
		s += fmt.Sprintf(", %d of them failed", p.Failed)
	}
	return s
}

// round shortens a duration for people.
func round(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}
