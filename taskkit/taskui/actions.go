package taskui

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// An action is a change that a form makes, with POST. Actions with tasks have a path "task/{id}/VERB" and are a [verb].
type action struct {
	path string
	op   taskhttp.Operation
	// destroys: a reason is required.
	destroys bool
	// body is the largest form, in bytes. Defaults to 1 MiB.
	body int64
	// do makes the change and returns where the browser goes, below the dashboard, and a key of said.
	do func(r *request, reason string) (to, saying string, err error)
}

// said are the sentences with which a page begins after a change.
var said = map[string]string{
	"approve": "The task was approved.", "resume": "The task goes on.", "pause": "The task pauses after its current batch.",
	"retry": "The task is tried again.", "retry-failed": "This task processes the failed items.", "continue": "This task processes what was left.",
	"apply": "This task does what the preview has previewed.", "change": "The settings were changed.", "stop": "The task ends as soon as possible.",
	"delete": "The task is removed after its current batch.", "deleted": "The task was deleted.",
	"started":      "The task was submitted.",
	"dead-retried": "The tasks of the group are tried again. What is still listed has refused it.", "dead-retrying": "This task retries the tasks of the group.",
	"refused":      "The task was refused, and ends.",
	"queue-paused": "The queue is paused.", "queue-resumed": "The queue goes on.",
	"schedule-paused": "The schedule is paused.", "schedule-resumed": "The schedule goes on.", "schedule-deleted": "The schedule was deleted.",
	"schedule-triggered": "A worker submits a task of the schedule within seconds.",
	"limit-set":          "The limit is set.", "limit-cleared": "What the tasks themselves say holds again.",
	"worker-ended": "The process of the worker was ended.",
	"bulk":         "The tasks are frozen, and this task makes the request of each.",
}

// actions returns all actions.
func actions() []action {
	return slices.Concat(verbActions(), bulkActions(), operatorActions())
}

const (
	maxForm   = 1 << 20
	maxReason = 1000
)

// act makes the change of an action once for each key and content of a form, and redirects to its page.
func (d *dashboard) act(r *request, a action) error {
	most := a.body
	if most == 0 {
		most = maxForm
	}
	r.Body = http.MaxBytesReader(r.w, r.Body, most)
	if err := parseForm(r.Request, most); err != nil {
		return err
	}
	if !r.allowedAction(r.Context(), a.op) {
		return errForbidden
	}
	reason := strings.TrimSpace(r.PostForm.Get("reason"))
	if len(reason) > 4*maxReason {
		return &problem{status: http.StatusUnprocessableEntity, title: "The reason is too long", remedy: "Go back and shorten it to 1,000 characters."}
	}
	if a.destroys && reason == "" {
		return &problem{status: http.StatusUnprocessableEntity, title: "A reason is required", detail: "This cannot be undone, and the reason is kept for those who read it later.", remedy: "Go back and say why."}
	}
	key := r.PostForm.Get("key")
	if key == "" || len(key) > 100 {
		return &problem{status: http.StatusBadRequest, title: "The form has no key", remedy: "Open the page again and send its form."}
	}
	// A browser that sends a form twice gives the first answer up, and both wait for the same change.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.config.Timeout)
	defer cancel()
	r.Request = r.WithContext(ctx)
	to, err := d.sent.once(ctx, r.sentKey(), func() (string, error) {
		to, saying, err := a.do(r, reason)
		if err != nil {
			return "", err
		}
		d.config.Logger.InfoContext(r.Context(), "a change was made in the dashboard", "operation", a.op, "person", r.who.ID, "path", r.URL.Path, "reason", reason)
		d.counts.forget() // the page that follows shows the change
		d.dead.forget()
		d.queues.forget()
		if saying != "" {
			to = withParameter(to, "said", saying)
		}
		return to, nil
	})
	if err != nil {
		return err
	}
	// A relative Location: the handler may be below a prefix that it does not see.
	r.w.Header().Set("Location", r.root+to)
	r.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// parseForm reads a form, also with a file.
func parseForm(r *http.Request, most int64) error {
	err := r.ParseForm() // ParseMultipartForm would not return its error
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); err == nil && strings.EqualFold(strings.TrimSpace(media), "multipart/form-data") {
		err = r.ParseMultipartForm(most)
	}
	if err == nil {
		return nil
	}
	if tooLarge(err) {
		return &problem{status: http.StatusRequestEntityTooLarge, title: "The form is too large", detail: "It may have " + bytesText(most) + ".", remedy: "Send less, or use the command taskkit."}
	}
	return &problem{status: http.StatusBadRequest, title: "The form cannot be read", remedy: "Go back and send it again."}
}

// allowedAction reports whether the person may do an operation at all. With a task it is checked again.
func (r *request) allowedAction(ctx context.Context, op taskhttp.Operation) bool {
	if isOfTasks(op) {
		return r.who.allows(op)
	}
	return r.mayOperate(ctx, op)
}

// taskFor reads the task that the path names for an operation that the person must be allowed with it.
func (r *request) taskFor(ctx context.Context, op taskhttp.Operation) (*taskkit.Task, error) {
	t, err := r.task(ctx)
	if err != nil {
		return nil, err
	}
	if !r.may(ctx, op, t) {
		return nil, errForbidden
	}
	return t, nil
}

// withParameter returns a path with another parameter.
func withParameter(to, name, value string) string {
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return to + separator + name + "=" + url.QueryEscape(value)
}
