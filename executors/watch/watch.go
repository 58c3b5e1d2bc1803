// Package watch makes a person watch many others, or stop watching them.
package watch

import (
	"context"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// The actions of a Spec.
const (
	Start = "watch"
	Stop  = "unwatch"
)

// Spec has the people to watch or to stop watching. The watcher is always the person as
// whom the task runs.
type Spec struct {
	// Targets are the people to be watched.
	Targets targets.Targets `json:"targets"`
	// Action is "watch" or "unwatch".
	Action string `json:"action" validate:"required,oneof=watch unwatch"`
}

// Validate checks the rules that tags cannot express.
func (s *Spec) Validate() error { return s.Targets.ValidateSome() }

// State is how far the task is.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
}

// Executor starts and ends watches.
//
//taskkit:executor watch batch=500 targets=targets.people preview ledger
type Executor struct{}

// Execute implements [taskkit.Executor]. To stop watching a person who was never watched
// does nothing; to watch a person who does not exist fails.
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next, err := targets.Take(ctx, c, b, b.Spec.Targets, &b.State.Cursor)
	if err != nil {
		return next, err
	}
	if b.Spec.Action == Stop {
		out, err := caseload.StopWatching(ctx, c, b.Task, b.RunAs, people)
		for _, person := range append(out.Already, out.Missing...) {
			b.Skip(person, "not_watched")
		}
		return next, err
	}
	out, err := caseload.StartWatching(ctx, c, b.Task, b.RunAs, people)
	for _, person := range out.Missing {
		b.Fail(person, taskkit.Permanent("no_such_person", nil))
	}
	for _, person := range out.Already {
		b.Skip(person, "already_watched")
	}
	return next, err
}
