// Package programstatus sets the program status of many people at once.
package programstatus

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// Spec has the people, the program and their new status.
type Spec struct {
	// Targets are the people. People who are not enrolled in Program fail.
	Targets targets.Targets `json:"targets"`
	// Program is the code of the program.
	Program string `json:"program" validate:"required,max=100"`
	// Status is the new status.
	Status string `json:"status" validate:"required,oneof=active paused exited"`
}

// Validate checks the rules that tags cannot express.
func (s *Spec) Validate() error { return s.Targets.ValidateSome() }

// State counts the people whose status has changed.
type State struct {
	Cursor  targets.Cursor `json:"cursor"`
	Changed int            `json:"changed,omitempty"`
}

// Executor sets program statuses.
//
//taskkit:executor program_status batch=500 targets=targets.people preview touches=caseload_enrolment,caseload_status_change
type Executor struct{}

// Execute implements [taskkit.Executor].
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next, err := targets.Take(ctx, c, b, b.Spec.Targets, &b.State.Cursor)
	if err != nil {
		return next, err
	}
	err = taskkit.Each(ctx, b, people, func(ctx context.Context, people []uuid.UUID) error {
		out, err := caseload.SetStatus(ctx, c, b.Task, b.Spec.Program, b.Spec.Status, people)
		if err != nil {
			return err
		}
		for _, person := range people {
			b.Note(person, "-> "+b.Spec.Status)
		}
		for _, person := range out.Missing {
			b.Note(person, "not enrolled")
			b.Fail(person, taskkit.Permanent("not_enrolled", nil))
		}
		for _, person := range out.Already {
			b.Note(person, "already "+b.Spec.Status)
			b.Skip(person, "already_so")
		}
		b.State.Changed += len(people) - len(out.Already) - len(out.Missing) // last: nothing fails after it
		return nil
	})
	return next, err
}
