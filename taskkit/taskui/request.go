package taskui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// request is a request of a person who has access. Its path is the one below the prefix.
type request struct {
	*http.Request

	d    *dashboard
	w    http.ResponseWriter
	who  Person
	root string // the relative path from the page to the dashboard, "./" or "../" and so on
	key  string // of the forms of the page, see sentForms
	sees bool   // see operator
}

// actor returns who makes the requests, for the record.
func (r *request) actor() uuid.UUID { return r.who.ID }

// audit returns the options with which a request is recorded.
func (r *request) audit(reason string) []taskkit.RequestOption {
	opts := []taskkit.RequestOption{taskkit.WithReason(reason)}
	if r.who.ID != uuid.Nil {
		opts = append(opts, taskkit.WithActor(r.who.ID))
	}
	return opts
}

// submission returns the options with which a follow-up of a task is submitted.
func (r *request) submission(reason string) []taskkit.SubmitOption {
	var opts []taskkit.SubmitOption
	if reason != "" {
		opts = append(opts, taskkit.WithReason(reason))
	}
	if r.who.ID != uuid.Nil {
		opts = append(opts, taskkit.WithActor(r.who.ID))
	}
	return opts
}

// task reads the task that the path names. One that the person must not see does not exist.
func (r *request) task(ctx context.Context) (*taskkit.Task, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || len(r.PathValue("id")) != 36 {
		return nil, errNoTask
	}
	t, err := r.d.client.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if !r.may(ctx, taskhttp.OpWatch, t) {
		return nil, errNoTask
	}
	return t, nil
}

// tasks reads a page of the tasks that the person may see. One with a next may have fewer tasks than the limit.
func (r *request) tasks(ctx context.Context, f taskkit.Filter) ([]*taskkit.Task, taskkit.ID, error) {
	if r.who.Own {
		if f.Owner != uuid.Nil && f.Owner != r.who.ID {
			return nil, uuid.Nil, nil
		}
		f.Owner = r.who.ID
	}
	found, next, err := r.d.client.Tasks(ctx, f)
	if err != nil {
		return nil, uuid.Nil, err
	}
	seen := found[:0]
	for _, t := range found {
		if r.may(ctx, taskhttp.OpWatch, t) {
			seen = append(seen, t)
		}
	}
	return seen, next, nil
}

// resolve finds the task that a search names, by its id or the end of it. A task that the person must not see is answered as one that does not exist.
func (r *request) resolve(text string) (taskkit.ID, error) {
	if len(text) == 36 {
		return taskkit.ParseID(text)
	}
	id, err := r.d.client.Resolve(r.Context(), text)
	ids := []taskkit.ID{id}
	if unresolved, ok := errors.AsType[*taskkit.IDError](err); ok {
		ids = unresolved.Matches // several, or none
	} else if err != nil {
		return id, err
	}
	var found []*taskkit.Task
	if len(ids) > 0 {
		var wrong error
		if found, _, wrong = r.tasks(r.Context(), taskkit.Filter{IDs: ids}); wrong != nil {
			return id, wrong
		}
	}
	switch len(found) {
	case 0:
		return id, &taskkit.IDError{Text: text, Problem: "no task that you may see has an id that ends with that; give the whole id of an older one"}
	case 1:
		return found[0].ID, nil
	default:
		return id, err
	}
}

// operator reports whether the person sees what is for operators, as taskhttp.OpExplainJobs does: texts of errors, specs and workers.
func (r *request) operator() bool { return r.sees }

// long gives a download more time than a page.
func (r *request) long(timeout time.Duration) { extend(r.w, timeout) }
