package taskui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// verb is a request of a task, which its page offers as a form while the task accepts it.
type verb struct {
	op       taskhttp.Operation // its text is the path below the task
	button   string
	text     string
	destroys bool
	// sensible reports whether the status of a task makes the verb worth a form, or worth saying why it is refused.
	sensible func(t *taskkit.Task) bool
	// page returns the path of the page that has the form, and its action. Nil: the page of the task has them.
	page func(taskkit.ID) string
	// refusal returns the error of the request as Refusals has it. Nil: check decides.
	refusal func(*taskkit.Refusals) error
	check   func(*taskkit.Client, context.Context, taskkit.ID) error
	// fields are the inputs besides the reason. Defaults to none.
	fields func(t *taskkit.Task, refused error) []field
	// do makes the request, and returns the task to show next.
	do func(r *request, t *taskkit.Task, reason string) (taskkit.ID, error)
}

// verbs returns the verbs in the order of their buttons.
func verbs() []verb {
	return []verb{
		{
			op: taskhttp.OpApprove, button: "Approve", sensible: isPaused, page: approvalPath, // what is approved must be seen first
			refusal: func(r *taskkit.Refusals) error { return r.Approve },
		},
		{
			op: taskhttp.OpResume, button: "Resume", text: "The task goes on where it was paused.", sensible: isPaused,
			refusal: func(r *taskkit.Refusals) error { return r.Resume }, fields: resumeFields, do: resume,
		},
		{
			op: taskhttp.OpPause, button: "Pause", text: "The task gives its slot back after the current batch, and waits until it is resumed.",
			sensible: func(t *taskkit.Task) bool { return t.Control == "" && !t.Ended() },
			refusal:  func(r *taskkit.Refusals) error { return r.Pause }, do: simple((*taskkit.Client).Pause),
		},
		{
			op: taskhttp.OpRetry, button: "Retry", text: "The task continues from its last checkpoint with new attempts.", sensible: hasFailed,
			refusal: func(r *taskkit.Refusals) error { return r.Retry }, fields: retryFields, do: retry,
		},
		{
			op: taskhttp.OpRetryFailed, button: "Retry failed items", text: "A new task processes the failed items of this one.",
			sensible: func(t *taskkit.Task) bool {
				return t.Ended() && !t.Preview && t.Version == nil && t.Progress.Failed > 0 && t.Control == ""
			},
			check: (*taskkit.Client).CheckRetryFailed, do: follow((*taskkit.Client).RetryFailed),
		},
		{
			op: taskhttp.OpContinue, button: "Continue", text: "A new task processes what this one has not processed.",
			sensible: func(t *taskkit.Task) bool {
				return !t.Preview && t.Version == nil && t.Control == "" && (hasFailed(t) || t.Status == taskkit.StatusCompleted && t.Partial)
			},
			check: (*taskkit.Client).CheckContinue, do: follow((*taskkit.Client).Continue),
		},
		{
			op: taskhttp.OpApply, button: "Apply", text: "A new task does exactly what this preview has previewed.",
			sensible: func(t *taskkit.Task) bool {
				return t.Preview && t.Status == taskkit.StatusCompleted && !t.Partial && t.Control == ""
			},
			check: (*taskkit.Client).CheckApply, do: follow((*taskkit.Client).Apply),
		},
		{
			op: taskhttp.OpChange, button: "Change", text: "The settings hold from the next batch on. What is left empty stays as it is.",
			sensible: func(t *taskkit.Task) bool {
				return !t.Ended() && (t.Control == "" || t.Control == taskkit.ControlPause)
			},
			refusal: func(r *taskkit.Refusals) error { return r.Change }, fields: changeFields, do: change,
		},
		{
			op: taskhttp.OpStop, button: "Stop", text: "The task ends as soon as possible, and what it has done stays. What is left can be continued by a new task.", destroys: true,
			sensible: func(t *taskkit.Task) bool {
				return !t.Ended() && t.Control != taskkit.ControlStop && t.Control != taskkit.ControlDelete
			},
			refusal: func(r *taskkit.Refusals) error { return r.Stop }, do: simple((*taskkit.Client).Stop),
		},
		{
			op: taskhttp.OpDelete, button: "Delete", text: "The task is removed with its result and its items. This cannot be undone.", destroys: true,
			sensible: func(t *taskkit.Task) bool { return t.Control != taskkit.ControlDelete },
			refusal:  func(r *taskkit.Refusals) error { return r.Delete }, do: simple((*taskkit.Client).Delete),
		},
	}
}

func isPaused(t *taskkit.Task) bool { return t.Control == taskkit.ControlPause && !t.Ended() }

func hasFailed(t *taskkit.Task) bool {
	return t.Status == taskkit.StatusFailure || t.Status == taskkit.StatusError
}

// simple makes a request without further inputs.
func simple(call func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)) func(*request, *taskkit.Task, string) (taskkit.ID, error) {
	return func(r *request, t *taskkit.Task, reason string) (taskkit.ID, error) {
		_, err := call(r.d.client, r.Context(), t.ID, r.audit(reason)...)
		return t.ID, err
	}
}

// follow submits the task that follows another one. A second call leads to the task of the first.
func follow(call func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.SubmitOption) (taskkit.ID, error)) func(*request, *taskkit.Task, string) (taskkit.ID, error) {
	return func(r *request, t *taskkit.Task, reason string) (taskkit.ID, error) {
		id, err := call(r.d.client, r.Context(), t.ID, r.submission(reason)...)
		if made, ok := errors.AsType[*taskkit.DuplicateError](err); ok && made.By == "idempotency key" {
			return made.ID, nil
		}
		return id, err
	}
}

// offers returns the forms of the verbs that a task accepts from the person now, and why it refuses the others that would make sense.
func (r *request) offers(ctx context.Context, t *taskkit.Task) (forms []verbForm, refused []refusedVerb, err error) {
	var found *taskkit.Refusals
	for _, v := range verbs() {
		if !v.sensible(t) || !r.may(ctx, v.op, t) {
			continue
		}
		if found == nil && v.refusal != nil {
			all, err := r.d.client.Refusals(ctx, r.actor(), t)
			if err != nil {
				return nil, nil, err
			}
			if found = all[t.ID]; found == nil {
				return nil, nil, errNoTask
			}
		}
		why, err := r.refuses(ctx, v, t, found)
		if err != nil {
			return nil, nil, err
		}
		form := r.form(v, t, why)
		switch {
		case why == nil, reachedLimit(why) && v.op == taskhttp.OpResume:
			form.Dialog = v.page == nil
			forms = append(forms, form)
		default:
			refused = append(refused, refusedVerb{v.button, errorText(r.forPerson(why))})
		}
	}
	return forms, refused, nil
}

// refusedVerb is a verb that a task does not accept now.
type refusedVerb struct{ Button, Why string }

// refuses returns why a task refuses a verb; nil: it does not. The error is one of the call.
func (r *request) refuses(ctx context.Context, v verb, t *taskkit.Task, found *taskkit.Refusals) (why, err error) {
	if v.refusal != nil {
		return v.refusal(found), nil
	}
	if why = v.check(r.d.client, ctx, t.ID); why == nil {
		return nil, nil
	}
	if refusal(why) == nil {
		return nil, why
	}
	if made, ok := errors.AsType[*taskkit.DuplicateError](why); ok && made.By == "idempotency key" {
		return &problem{title: "it was done before: see task " + made.ID.String()}, nil
	}
	return why, nil
}

// reachedLimit reports whether a task needs a higher limit of failed items to go on.
func reachedLimit(err error) bool {
	state, ok := errors.AsType[*taskkit.StateError](err)
	return ok && state.Condition == taskkit.ConditionLimitReached
}

// form returns the form of a verb.
func (r *request) form(v verb, t *taskkit.Task, why error) verbForm {
	f := verbForm{
		ID: "do-" + string(v.op), Verb: string(v.op), Path: taskPath(t.ID) + "/" + string(v.op), Back: taskPath(t.ID), Button: v.button, Text: v.text,
		Revision: revision(t), Destroys: v.destroys,
	}
	if v.page != nil {
		f.Path = v.page(t.ID)
	}
	if v.fields != nil {
		f.Fields = v.fields(t, why)
	}
	return f
}

// revision changes with what decides about requests of a task, and not with its progress: a form that was opened before such a change is refused.
func revision(t *taskkit.Task) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d %t", t.ID, t.Status, t.Control, t.Fence, t.Partial))
	if !t.Ended() && t.Control == "" { // a request of a task that goes on does not depend on which worker has it
		sum = sha256.Sum256(fmt.Appendf(nil, "%s open", t.ID))
	}
	return hex.EncodeToString(sum[:8])
}

// verbActions returns the actions of the verbs.
func verbActions() []action {
	var all []action
	for _, v := range verbs() {
		if v.page != nil {
			continue
		}
		all = append(all, action{
			path: "task/{id}/" + string(v.op), op: v.op, destroys: v.destroys,
			do: func(r *request, reason string) (string, string, error) {
				t, err := r.taskFor(r.Context(), v.op)
				if err != nil {
					return "", "", err
				}
				if r.PostForm.Get("revision") != revision(t) {
					return "", "", errChanged
				}
				next, err := v.do(r, t, reason)
				if err != nil {
					return "", "", err
				}
				if v.op == taskhttp.OpDelete {
					if _, err := r.d.client.Task(r.Context(), t.ID); errors.Is(err, taskkit.ErrNotFound) {
						return "list", "deleted", nil
					}
				}
				return taskPath(next), string(v.op), nil
			},
		})
	}
	return all
}

// confirm reads the page with the form of one verb.
func confirm(r *request) (any, error) {
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return string(v.op) == r.PathValue("verb") })
	if i < 0 || all[i].page != nil {
		return nil, errNoPage
	}
	t, err := r.taskFor(r.Context(), all[i].op)
	if err != nil {
		return nil, err
	}
	forms, refused, err := r.offers(r.Context(), t)
	if err != nil {
		return nil, err
	}
	for _, f := range forms {
		if f.Verb == string(all[i].op) {
			f.Dialog = false
			return confirmView{f, t}, nil
		}
	}
	why := "The status of the task does not allow it."
	for _, no := range refused {
		if no.Button == all[i].button {
			why = no.Why
		}
	}
	return nil, &problem{status: 409, title: all[i].button + " is not possible now", detail: why, remedy: "Open the page of the task: it offers what is possible."}
}

// confirmView is the data of the page of one form.
type confirmView struct {
	Form verbForm
	Task *taskkit.Task
}

// Title implements titled.
func (v confirmView) Title() string { return v.Form.Button + ": " + v.Task.Kind }

// taskPath returns the path of the page of a task.
func taskPath(id taskkit.ID) string { return "task/" + id.String() }
