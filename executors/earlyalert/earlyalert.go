// Package earlyalert raises an early alert for many people at once and has them
// told by mail.
package earlyalert

import (
	"context"

	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// Spec says for whom to raise an alert, and why.
type Spec struct {
	// Targets are the people whom the alert is about.
	Targets targets.Targets `json:"targets"`
	// Category is the kind of concern.
	Category string `json:"category" validate:"required,oneof=attendance grades wellbeing finance other"`
	// Reason is shown to the coaches.
	Reason string `json:"reason" validate:"required,max=4000"`
	// Mail is sent to everybody for whom an alert was raised, by a task of its
	// own, once all alerts are raised. Nobody is told when it is absent.
	Mail *sendemail.Letter `json:"mail,omitempty"`
}

// Validate checks what tags cannot say.
func (s *Spec) Validate() error {
	if s.Mail != nil {
		if err := s.Mail.Validate(); err != nil {
			return err
		}
	}
	return s.Targets.ValidateSome()
}

// State counts the alerts that were raised.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
	Raised int            `json:"raised,omitempty"`
}

// Executor raises early alerts.
//
//taskkit:executor early_alert batch=200 targets=targets.people preview
type Executor struct {
	// SubmitMail submits a task that sends mail. Wiring sets it to the generated
	// sendemailtask.Submit, which this package cannot import: generated code
	// imports executors. Required.
	SubmitMail func(ctx context.Context, tx taskkit.Execer, spec sendemail.Spec, opts ...taskkit.SubmitOption) (taskkit.ID, error)
}

// Execute implements [taskkit.Executor]. The mail task is submitted in the
// transaction of the last batch: it exists if, and only if, all alerts do.
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next, err := targets.Take(ctx, c, b, b.Spec.Targets, &b.State.Cursor)
	if err != nil {
		return next, err
	}
	out, err := caseload.RaiseAlerts(ctx, c, b.Task, b.RunAs, caseload.Concern{Category: b.Spec.Category, Reason: b.Spec.Reason}, people)
	if err != nil {
		return next, err
	}
	for _, person := range out.Missing {
		b.Fail(person, taskkit.Permanent("no_such_person", nil))
	}
	b.State.Raised += len(people) - len(out.Missing)
	if next == taskkit.Done && b.Spec.Mail != nil && b.State.Raised > 0 {
		// Not the targets of this task: a query of its own would choose anew.
		alerted := targets.Targets{Query: &targets.Query{Alert: b.Task}}
		_, err = x.SubmitMail(ctx, b.Tx, sendemail.Spec{Targets: alerted, Letter: *b.Spec.Mail},
			taskkit.OwnedBy(b.Owner), taskkit.RunAs(b.RunAs), taskkit.Follows(b.Task), taskkit.WithTotal(b.State.Raised))
	}
	return next, err
}
