package taskui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// problem is an error that is shown as a page: what is wrong, and what to do.
type problem struct {
	status   int
	title    string
	detail   string
	remedy   string
	code     string // a line of Go to add
	incident string // in the log too
}

func (p *problem) Error() string { return p.title }

// The problems without further data.
var (
	errNoPage      = &problem{status: http.StatusNotFound, title: "There is no such page", remedy: "Follow the navigation, or search for the task by its id."}
	errNoTask      = &problem{status: http.StatusNotFound, title: "There is no such task", detail: "It may have been deleted, or removed at the end of its retention, or you may not see it.", remedy: "Search among all tasks."}
	errForbidden   = &problem{status: http.StatusForbidden, title: "You may not do this", remedy: "Request the right from the people who run this service: it is decided by Config.Access of the dashboard."}
	errNoAccess    = &problem{status: http.StatusForbidden, title: "You may not see this dashboard", remedy: "Request the right from the people who run this service: it is decided by Config.Access of the dashboard."}
	errCrossOrigin = &problem{status: http.StatusForbidden, title: "The request comes from another site", remedy: "Open the dashboard and make the request there."}
	errUnknown     = &problem{status: http.StatusUnauthorized, title: "It is not known who you are", remedy: "Sign in to the service and open the page again."}
	errChanged     = &problem{status: http.StatusConflict, title: "It has changed since the page was opened", detail: "The form was filled in for another state than the present one, so nothing was done.", remedy: "Go back, reload the page, and decide again."}
	errKeyTaken    = &problem{status: http.StatusConflict, title: "Another task with the same unique key is open", remedy: "Make the request again when that task has ended."}
	errAborted     = &problem{status: http.StatusInternalServerError, title: "The server has made a mistake", remedy: "Open the page again to see what was done."}
)

// problemPage shows a problem. It is not among the pages.
var problemPage = page{name: "problem", title: "Problem"}

// problemView is the data of the page of a problem.
type problemView struct {
	Heading, Detail, Remedy, Code, Incident string
	Status                                  int
}

// Title implements titled.
func (v problemView) Title() string { return v.Heading }

// refuse answers with the page of an error.
func (d *dashboard) refuse(r *request, err error) {
	p := d.explain(r, err)
	if p.status == http.StatusServiceUnavailable {
		r.w.Header().Set("Retry-After", "5")
	}
	view := problemView{p.title, p.detail, p.remedy, p.code, p.incident, p.status}
	if err := d.render(r, p.status, problemPage, view); err != nil {
		d.config.Logger.ErrorContext(r.Context(), "the page of an error failed", "error", err)
		http.Error(r.w, p.title, p.status)
	}
}

// refuseAccess answers a request of which it is not known who makes it.
func (d *dashboard) refuseAccess(r *request, err error) {
	if errors.Is(err, errElsewhere) {
		d.refuse(r, &problem{
			status: http.StatusForbidden, title: "The dashboard answers only browsers of its own machine", detail: "The service has not configured who may see it.",
			remedy: "Open it on its own machine under a name such as localhost, or add to the service who may do what:",
			code:   `taskui.Config{Access: func(r *http.Request) (taskui.Person, error) { return taskui.Person{ID: userOf(r), Level: taskui.Operate}, nil }}`,
		})
		return
	}
	d.config.Logger.DebugContext(r.Context(), "unauthenticated request rejected", "path", r.URL.Path, "error", err)
	d.refuse(r, errUnknown)
}

// explain returns the problem that an error is.
func (d *dashboard) explain(r *request, err error) *problem {
	err = r.forPerson(err)
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(err, taskkit.ErrNotFound) {
		return errNoTask
	}
	if errors.Is(err, taskops.ErrNoSchedule) {
		return &problem{status: http.StatusNotFound, title: "There is no such schedule", remedy: "It may have been deleted: see the page Schedules."}
	}
	if p := refusal(err); p != nil {
		return p
	}
	if _, ok := errors.AsType[*taskkit.SchemaError](err); ok {
		return d.incident(r, &problem{status: http.StatusServiceUnavailable, title: "The tables of taskkit are missing or of another version", remedy: "Run the command taskkit migrate, then open the page again."}, err)
	}
	if _, ok := errors.AsType[*taskkit.ConnectError](err); ok || errors.Is(err, context.DeadlineExceeded) || taskkit.IsTransient(err) {
		return d.incident(r, &problem{status: http.StatusServiceUnavailable, title: "The database does not answer in time", remedy: "Open the page again in a few seconds. The tasks go on meanwhile."}, err)
	}
	return d.incident(r, &problem{status: http.StatusInternalServerError, title: "The server has made a mistake", remedy: "The log of the service has the error under this number."}, err)
}

// forPerson returns an error as the person may see it. Where a unique key is taken, only an operator sees the key and the task that has it.
func (r *request) forPerson(err error) error {
	if taken, ok := errors.AsType[*taskkit.DuplicateError](err); ok && taken.By == "unique key" && !r.operator() {
		return errKeyTaken
	}
	return err
}

// refusal returns the problem of a request that the library refuses, or nil.
func refusal(err error) *problem {
	again := "Go back and reload the page: it offers what is possible now."
	var text string
	switch {
	case isAs[*taskkit.StateError](err), isAs[*taskkit.DuplicateError](err), isAs[*taskkit.ChildError](err), isAs[*taskkit.ItemsError](err), isAs[*taskkit.PreviewError](err):
		text = err.Error()
	case isAs[*taskkit.OptionError](err), isAs[*taskkit.SpecError](err), isAs[*taskops.ScheduleError](err):
		return &problem{status: http.StatusUnprocessableEntity, title: "A value cannot be used", detail: plain(err), remedy: "Go back and correct it."}
	default:
		return nil
	}
	return &problem{status: http.StatusConflict, title: "This is not possible now", detail: trimName(text), remedy: again}
}

// isAs reports whether an error of a type is in a tree of errors.
func isAs[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// incident logs an error and returns its problem with the number of the log's line.
func (d *dashboard) incident(r *request, p *problem, err error) *problem {
	p.incident = uuid.NewString()
	if !errors.Is(r.Context().Err(), context.Canceled) { // otherwise the browser has gone, and nothing is wrong
		d.config.Logger.ErrorContext(r.Context(), "a page failed", "incident", p.incident, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	return p
}

// recovered answers a request whose handler has panicked.
func (d *dashboard) recovered(r *request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
		panic(v)
	}
	d.refuse(r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}

// unrouted returns the problem for which the mux has a text: 404 or 405.
func unrouted(h http.Handler, r *http.Request) *problem {
	var a answered
	h.ServeHTTP(&a, r)
	if allow := a.Header().Get("Allow"); allow != "" {
		return &problem{status: http.StatusMethodNotAllowed, title: "This address takes another method", detail: "It takes " + allow + ".", remedy: "Use the forms of the dashboard."}
	}
	return errNoPage
}

// answered is a ResponseWriter that keeps the headers only.
type answered struct{ header http.Header }

func (a *answered) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (*answered) Write(b []byte) (int, error) { return len(b), nil }

func (*answered) WriteHeader(int) {}

// tooLarge reports whether a body is larger than allowed.
func tooLarge(err error) bool { return isAs[*http.MaxBytesError](err) }

// isOfTasks reports whether an operation is one with tasks, and not one of operators.
func isOfTasks(op taskhttp.Operation) bool {
	all := Person{Level: Admin, Own: true}
	return all.allows(op)
}
