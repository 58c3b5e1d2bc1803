package taskkit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Explain says in one sentence where a task stands and, if it is not running,
// why.
func (c *Client) Explain(ctx context.Context, id ID) (string, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return "", err
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return "", err
	}
	attempts, err := c.Attempts(ctx, id, 1)
	if err != nil {
		return "", err
	}
	return explain(t, workers, attempts), nil
}

// explain is a pure function of what was read.
func explain(t *Task, workers []WorkerInfo, attempts []Attempt) string {
	last := ""
	if len(attempts) > 0 {
		last = fmt.Sprintf("; its last attempt failed with %s at checkpoint %d", attempts[0].Code, attempts[0].Checkpoint)
	}
	switch {
	case t.Partial():
		return fmt.Sprintf("It was stopped%s after %s; what it did until then stays.", by(t), items(t))
	case t.Status == Completed:
		return fmt.Sprintf("It is done: %s in %s.", items(t), round(t.Elapsed))
	case t.Status == Failure:
		return fmt.Sprintf("It failed after %s: %s. Retry goes on from checkpoint %d.", items(t), t.Desc, t.Checkpoints)
	case t.Status == Error:
		return fmt.Sprintf("The runtime could not run it: %s. Retry goes on from checkpoint %d.", t.Desc, t.Checkpoints)
	case t.Status != Queued:
		return explainHeld(t, workers, last)
	case t.Control == ControlPause:
		return fmt.Sprintf("It is paused%s at checkpoint %d; resume lets it go on.", by(t), t.Checkpoints)
	}
	able, why := able(t, workers)
	switch {
	case t.Control != ControlNone && able == 0:
		return fmt.Sprintf("It is to be ended (%s) and waits for a worker: %s.", t.Control, why)
	case t.Wait > 0:
		reason := t.Reason
		if reason == "" {
			reason = "it was submitted for later"
		}
		return fmt.Sprintf("It waits for its time, %s from now (%s)%s.", round(t.Wait), reason, last)
	case able == 0:
		return fmt.Sprintf("It is due but no worker can take it: %s.", why)
	default:
		return fmt.Sprintf("It is due and waits for a free slot; live workers that can take it: %d%s.", able, last)
	}
}

func explainHeld(t *Task, workers []WorkerInfo, last string) string {
	doing := "is being prepared by"
	if t.Status == Executing {
		doing = "is running on"
	}
	request := ""
	if t.Control != ControlNone {
		request = fmt.Sprintf("; %s%s was requested and is seen at the next batch border", t.Control, by(t))
	}
	i := slices.IndexFunc(workers, func(w WorkerInfo) bool { return w.ID == t.Worker })
	if i < 0 || !workers[i].Alive {
		silent := "an unknown time"
		if i >= 0 {
			silent = round(workers[i].Silence)
		}
		return fmt.Sprintf("Its worker %s has been silent for %s; any other worker will take it over%s%s.", t.Worker, silent, request, last)
	}
	return fmt.Sprintf("It %s worker %s, at checkpoint %d with %s%s%s.", doing, t.Worker, t.Checkpoints, items(t), request, last)
}

// able counts the live workers that can take a task, and says why none can.
func able(t *Task, workers []WorkerInfo) (n int, why string) {
	alive, knows, reads, serves := 0, 0, 0, 0
	for _, w := range workers {
		if !w.Alive || w.Draining {
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

func by(t *Task) string {
	s := ""
	if t.ControlBy != uuid.Nil {
		s = " by " + t.ControlBy.String()
	}
	if t.ControlReason != "" {
		s += fmt.Sprintf(" (%s)", t.ControlReason)
	}
	return s
}

func items(t *Task) string {
	p := t.Progress
	s := fmt.Sprintf("%d items", p.Dealt())
	if p.Total >= 0 {
		s = fmt.Sprintf("%d of %d items", p.Dealt(), p.Total)
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
