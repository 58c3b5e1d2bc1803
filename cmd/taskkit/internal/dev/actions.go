package dev

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
)

// coach is the person who submits all tasks.
var coach = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

// everyone is the targets of the five actions that run at once.
func everyone() targets.Targets { return targets.Targets{Query: &targets.Query{Everyone: true}} }

// actions is the number of tasks that can run at once: the five actions, and the
// mail that the early alerts submit.
const actions = 6

// action is a bulk action of the demonstration.
type action struct {
	name   string
	id     taskkit.ID
	submit func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error)
	// ledger is the action's name in the ledger; "" for the export, whose file
	// is read instead.
	ledger string
	// overHTTP is the export, which is started over HTTP. It has no submit.
	overHTTP bool
	// child is a task that this one submits; parent is set on that.
	child, parent *action
	// buckets says that the action runs in buckets over the people.
	buckets bool
	// alerted says that the action is for the people who got an alert, not for all.
	alerted bool

	task      *taskkit.Task // as last read, without spec and state
	takeovers int           // how often its worker was killed while running the task
}

// all returns the five actions that run at once.
func (r *run) all() []*action {
	return []*action{
		{
			name: "program_status", ledger: caseload.ActionStatus,
			submit: func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
				return programstatustask.Submit(ctx, tx, programstatus.Spec{
					Targets: everyone(), Program: r.people.program, Status: caseload.Paused,
				}, opts...)
			},
		},
		{
			name: "watch", ledger: caseload.ActionWatch,
			submit: func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
				return watchtask.Submit(ctx, tx, watch.Spec{Targets: everyone(), Action: watch.Start}, opts...)
			},
		},
		{
			name: "early_alert", ledger: caseload.ActionAlert, buckets: true, submit: raiseAlerts,
			child: &action{name: "its mail", ledger: caseload.ActionMail, alerted: true},
		},
		{
			name: "export_caseload", overHTTP: true, buckets: true,
		},
		{
			name: "send_email", ledger: caseload.ActionMail,
			submit: func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
				return sendemailtask.Submit(ctx, tx, sendemail.Spec{Targets: everyone(), Letter: sendemail.Letter{
					Subject: "Welcome back, {first_name}",
					Body:    "Dear {first_name} {last_name},\n\nyour coach would like to see you this week.\n",
				}}, opts...)
			},
		},
	}
}

// raiseAlerts submits an early alert for everyone.
func raiseAlerts(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
	return earlyalerttask.Submit(ctx, tx, earlyalert.Spec{
		Targets: everyone(), Category: "attendance", Reason: "Absent three times in two weeks.",
		Mail: &sendemail.Letter{Subject: "We missed you, {first_name}", Body: "Dear {first_name},\n\nplease see your coach.\n"},
	}, opts...)
}

// submit submits the actions as a service does: each in a transaction of its
// own, and the export over HTTP.
func (r *run) submit(ctx context.Context) error {
	for _, a := range r.all() {
		var err error
		if a.overHTTP {
			a.id, err = r.startExport(ctx)
		} else {
			err = r.inTransaction(ctx, a, taskkit.WithTotal(len(r.people.all)))
		}
		if err != nil {
			return fmt.Errorf("submit %s: %w", a.name, err)
		}
		r.actions = append(r.actions, a)
	}
	return nil
}

func (r *run) inTransaction(ctx context.Context, a *action, opts ...taskkit.SubmitOption) error {
	tx, err := r.workspace.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	opts = append(opts, r.Webhook.notified()...)
	a.id, err = a.submit(ctx, tx, append(opts, taskkit.WithSchema(r.workspace.schema), taskkit.WithQueue(r.workspace.queue),
		taskkit.OwnedBy(coach), taskkit.WithReason("taskkit dev"))...)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// addChildren adds the tasks that completed tasks have submitted. Each must have
// submitted exactly one: two would mean that its last batch took effect twice.
func (r *run) addChildren(ctx context.Context) error {
	for _, a := range r.actions {
		if a.child == nil || a.child.parent != nil || a.task.Status != taskkit.StatusCompleted {
			continue
		}
		found, _, err := r.client.Tasks(ctx, taskkit.Filter{Follows: a.id, Kinds: []string{sendemailtask.Kind.Name()}})
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("%s %s completed and submitted %d tasks, not one", a.name, a.id, len(found))
		}
		a.child.id, a.child.parent, a.child.task = found[0].ID, a, found[0]
		r.actions = append(r.actions, a.child)
	}
	return nil
}
