package taskkit

import (
	"cmp"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// WithSubmitted sets *t to the task that is stored, so that who submits it need not read it.
// Its times are those of the database and stay zero, and SpecJSON is left out as in
// [Client.Tasks]. The ID of *t is zero after an error, and where more than the submission
// decides what is stored: for tasks with a later start, a reference, frozen targets or
// conditions. Read these by the id that Submit returns.
//
// In SubmitMany it is an *[OptionError] for more than one spec.
func WithSubmitted(t *Task) SubmitOption {
	return submittedOption{t}
}

type submittedOption struct{ task *Task }

func (o submittedOption) applySubmit(s *submission) { s.submitted = o.task }

// forgetSubmitted sets the tasks of WithSubmitted to zero, so that none of an earlier call
// is there after an error. It is the first step of each call that takes options of Submit.
func forgetSubmitted(opts []SubmitOption) {
	for _, o := range opts {
		switch o := o.(type) {
		case submittedOption:
			*o.task = Task{}
		case submitOptions:
			forgetSubmitted(o)
		}
	}
}

// submittedTask returns a task as it is stored; the zero Task if the submission alone does
// not say that.
func submittedTask(n *store.NewTask) Task {
	if n.HasPlan() || n.Reference != "" || n.Start.Given() || n.Delay != 0 || !n.NotBefore.IsZero() {
		return Task{}
	}
	return *fromStore(store.Task{
		Submitted: n.Submitted, ID: n.ID, Revision: n.Revision, SpecRevision: n.Revision, Secrets: n.Secrets,
		Status: lifecycle.Queued, Progress: lifecycle.Progress{Total: max(n.Total, -1)}, Priority: n.Priority,
		CreatedBy: cmp.Or(n.Actor, n.Owner), ModifiedBy: cmp.Or(n.Actor, n.Owner),
	})
}
