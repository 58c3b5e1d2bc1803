package taskkit

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskcause"
)

// Explanation says why a task is where it is. It is for operators: it may contain texts of errors and names of workers.
type Explanation struct {
	Task   ID              `json:"id"`
	Status Status          `json:"status"`
	Cause  taskcause.Cause `json:"cause"`
	// Note is the cause in a few words, for lists; "" when the status says it all.
	Note string `json:"note,omitempty"`
	// Text is the state of the task in one sentence and, if it is not running, why.
	Text string `json:"explain"`
}

// String returns the text.
func (e *Explanation) String() string { return e.Text }

// Explain says why a task is where it is. It returns [ErrNotFound] when there is no such task.
func (c *Client) Explain(ctx context.Context, id ID) (*Explanation, error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	explained, err := c.ExplainAll(ctx, []*Task{t})
	if err != nil {
		return nil, err
	}
	return explained[0], nil
}

// ExplainAll explains tasks that have just been read, in their order. However many there are, it executes at
// most seven statements, and none if all of them have ended as planned.
func (c *Client) ExplainAll(ctx context.Context, tasks []*Task) ([]*Explanation, error) {
	f, err := c.facts(ctx, tasks)
	if err != nil {
		return nil, err
	}
	explained := make([]*Explanation, len(tasks))
	for i, t := range tasks {
		explained[i] = f.explain(t)
	}
	return explained, nil
}

// facts are what an explanation needs besides the rows of tasks.
type facts struct {
	rowOnly     bool // nothing but the rows was read
	workers     []store.Process
	pauses      []store.QueuePause
	backgrounds map[uuid.UUID]*store.Background
}

// facts reads what the explanations of these tasks need.
func (c *Client) facts(ctx context.Context, tasks []*Task) (*facts, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	f := new(facts)
	var query store.BackgroundQuery
	open, queued := false, false
	for _, t := range tasks {
		open, queued = open || !t.Ended(), queued || t.Status == StatusQueued
		if t.Control == ControlPause {
			query.Options = append(query.Options, t.ID)
		}
		if t.triedBefore() {
			query.Attempts = append(query.Attempts, t.ID)
		}
		if t.Partial || t.triedBefore() {
			query.Requests = append(query.Requests, t.ID)
		}
		if t.Cause() == taskcause.Limit {
			query.Limits = append(query.Limits, t.ID)
		}
	}
	if open {
		if f.workers, err = c.workers(ctx); err != nil {
			return nil, err
		}
	}
	if queued {
		if f.pauses, err = op.PausedQueues(ctx); err != nil {
			return nil, c.public(ctx, err)
		}
	}
	if f.backgrounds, err = op.Backgrounds(ctx, query); err != nil {
		return nil, c.public(ctx, err)
	}
	return f, nil
}

// background returns what was read of a task.
func (f *facts) background(t *Task) *store.Background {
	if b := f.backgrounds[t.ID]; b != nil {
		return b
	}
	return new(store.Background)
}

// pauseOf returns the pause of the queue of a task, or nil if it is not paused.
func (f *facts) pauseOf(t *Task) *store.QueuePause {
	for i, p := range f.pauses {
		if p.Queue == t.Queue && p.Paused {
			return &f.pauses[i]
		}
	}
	return nil
}

// worker returns the worker that has claimed a task; nil: it is not known.
func (f *facts) worker(id string) *store.Process {
	if i := slices.IndexFunc(f.workers, func(w store.Process) bool { return w.ID == id }); i >= 0 {
		return &f.workers[i]
	}
	return nil
}

// triedBefore reports whether a try of the present batch of an open task has not succeeded.
func (t *Task) triedBefore() bool {
	return !t.Ended() && t.try() > 1
}

// try returns the number of the present try of the task's batch, or of the next one of a task that waits.
func (t *Task) try() int {
	if t.Status == StatusQueued {
		return t.Attempts + 1
	}
	return max(t.Attempts, 1)
}

// tries are the tries of the present batch of a task that have not succeeded.
type tries struct {
	failed, lost int
	most         int            // how many there may be; 0: unknown
	last         *store.Attempt // the last that failed with an error; nil: none
}

// tries counts the tries of a task.
func (f *facts) tries(t *Task) tries {
	if !t.triedBefore() {
		return tries{}
	}
	b, before := f.background(t), t.try()-1
	r := tries{most: f.mostAttempts(t)}
	r.failed = min(store.FailedAttempts(b.Attempts, t.Checkpoints, t.try(), b.Retried), before)
	r.lost = before - r.failed
	if r.failed > 0 {
		r.last = &b.Attempts[0]
		r.most = lifecycle.AttemptsOf(lifecycle.Class(r.last.Class), r.most)
	}
	return r
}

// mostAttempts returns how often a worker tries a batch of the task: the one that has it, or otherwise one that
// can take it; 0: unknown.
func (f *facts) mostAttempts(t *Task) (most int) {
	for _, w := range f.workers {
		switch {
		case w.ID == t.Worker:
			return w.MaxAttempts
		case !w.Alive():
		case most == 0, canTake(w, t):
			most = w.MaxAttempts
		}
	}
	return most
}

// canTake reports whether a worker can claim a task once it has a free slot.
func canTake(w store.Process, t *Task) bool {
	return w.Alive() && !w.Draining && !w.SafeMode && slices.Contains(w.Kinds[t.Kind], t.Revision) && slices.Contains(w.Queues, t.Queue)
}
