// Package earlyalert raises an early alert for many people at once and sends them
// mail about it.
package earlyalert

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// Spec has the people to raise an alert for, and the reason.
type Spec struct {
	// Targets are the people whom the alert is about.
	Targets targets.Targets `json:"targets"`
	// Category is the kind of concern.
	Category string `json:"category" validate:"required,oneof=attendance grades wellbeing finance other"`
	// Reason is shown to the coaches.
	Reason string `json:"reason" validate:"required,max=4000"`
	// Mail is sent to everybody for whom an alert was raised, by a task of its
	// own, once all alerts are raised. Without it no mail is sent.
	Mail *sendemail.Letter `json:"mail,omitempty"`
}

// Validate checks the rules that tags cannot express.
func (s *Spec) Validate() error {
	if s.Mail != nil {
		if err := s.Mail.Validate(); err != nil {
			return err
		}
	}
	return s.Targets.ValidateSome()
}

// State is the position in the query while people are found, and then the number of alerts.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
	Raised int            `json:"raised,omitempty"`
}

// Result sums up the buckets.
type Result struct {
	// Raised counts the alerts.
	Raised int `json:"raised"`
	// Mail is the task that sends the mail, if there is one.
	Mail uuid.UUID `json:"mail,omitzero"`
}

// Executor raises early alerts, in buckets over the people of a query.
//
//taskkit:executor early_alert batch=200 targets=targets.people preview
type Executor struct {
	// SubmitMail submits a task that sends mail. Wiring sets it to the generated
	// sendemailtask.Submit, which this package cannot import: generated code
	// imports executors. Required.
	SubmitMail func(ctx context.Context, tx taskkit.Execer, spec sendemail.Spec, opts ...taskkit.SubmitOption) (taskkit.ID, error)
	// BucketSize is about how many people a bucket has. Defaults to [targets.BucketSize].
	BucketSize int
}

// Segments implements [taskkit.Segmenter].
func (x *Executor) Segments(ctx context.Context, b *taskkit.Batch[Spec, State]) (*segment.Plan, error) {
	return b.Spec.Targets.Segments(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Tx, x.BucketSize)
}

// Targets implements [taskkit.Targeter].
func (*Executor) Targets(ctx context.Context, b *taskkit.Batch[Spec, State]) ([]uuid.UUID, taskkit.Next, error) {
	return targets.Find(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b, b.Spec.Targets, &b.State.Cursor)
}

// Execute implements [taskkit.Executor]. The alerts belong to the whole task, not to the
// bucket.
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next := taskkit.Take(b, b.Spec.Targets.People)
	out, err := caseload.RaiseAlerts(ctx, c, targets.WorkOf(b), b.RunAs, caseload.Concern{Category: b.Spec.Category, Reason: b.Spec.Reason}, people)
	if err != nil {
		return next, err
	}
	for _, person := range out.Missing {
		b.Fail(person, taskkit.Permanent("no_such_person", nil))
	}
	for _, person := range out.NoCoach {
		b.Fail(person, taskkit.Permanent("no_coach", nil))
	}
	b.State.Raised += len(people) - len(out.Missing) - len(out.NoCoach)
	return next, nil
}

// Merge implements [taskkit.Merger].
func (*Executor) Merge(total *State, part State) error {
	total.Raised += part.Raised
	return nil
}

// Report implements [taskkit.Reporter]. The mail task is submitted in the transaction that
// ends the task: it exists if, and only if, all alerts do. A task that was stopped, and a preview, send no
// mail.
func (x *Executor) Report(ctx context.Context, b *taskkit.Batch[Spec, State]) (Result, error) {
	r := Result{Raised: b.State.Raised}
	if b.EndReason() != taskkit.EndDone {
		// After a stop the states of the buckets were not merged.
		var err error
		r.Raised, err = caseload.CountAlerts(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task)
		return r, err
	}
	if b.Spec.Mail == nil || r.Raised == 0 || b.Preview {
		return r, nil
	}
	// Not the targets of this task: a query of its own would choose anew.
	alerted := targets.Targets{Query: &targets.Query{Alert: b.Task}}
	var err error
	r.Mail, err = x.SubmitMail(ctx, b.Tx, sendemail.Spec{Targets: alerted, Letter: *b.Spec.Mail},
		taskkit.OwnedBy(b.Owner), taskkit.RunAs(b.RunAs), taskkit.WithPredecessor(b.Task), taskkit.WithTotal(r.Raised))
	return r, err
}
