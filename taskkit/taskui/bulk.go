package taskui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskhttp"
)

// bulkVerb is a verb as the dashboard offers it for all tasks that match.
type bulkVerb struct {
	verb         taskbulk.Verb
	op           taskhttp.Operation
	button, text string
	destroys     bool
}

var bulkVerbs = []bulkVerb{
	{taskbulk.Retry, taskhttp.OpRetry, "Retry", "Each continues from its last checkpoint with new attempts.", false},
	{taskbulk.Resume, taskhttp.OpResume, "Resume", "Each paused one goes on where it was paused.", false},
	{taskbulk.Pause, taskhttp.OpPause, "Pause", "Each waits after its current batch until it is resumed.", false},
	{taskbulk.Stop, taskhttp.OpStop, "Stop", "Each ends as soon as possible, and what it has done stays.", true},
	{taskbulk.Delete, taskhttp.OpDelete, "Delete", "Each is removed with its result and its items. This cannot be undone.", true},
}

// mayBulk reports whether the person may do something with all tasks that match. A rule about single tasks cannot be asked about each, so with one
// the person must be allowed to operate in bulk.
func (r *request) mayBulk(ctx context.Context, op taskhttp.Operation) bool {
	return r.who.allows(op) && (r.d.config.Authorize == nil || r.mayOperate(ctx, taskhttp.OpBulk))
}

// bulkLinks returns what can be done with all tasks of a search.
func (r *request) bulkLinks(ctx context.Context, query string, f taskkit.Filter) (links []filterLink) {
	f.Before, f.Limit = uuid.Nil, 0
	for _, v := range bulkVerbs {
		would := taskbulk.Request{Verb: v.verb, Filter: f, All: true, Reason: v.button}
		if r.mayBulk(ctx, v.op) && would.Check() == nil {
			links = append(links, filterLink{v.button, bulkPath(v.verb, query)})
		}
	}
	return links
}

func bulkPath(v taskbulk.Verb, query string) string {
	return "bulk/" + string(v) + "?" + url.Values{"q": {query}}.Encode()
}

// bulkRequest returns the bulk operation of a search.
func (r *request) bulkRequest(ctx context.Context, v bulkVerb, text string) (taskbulk.Request, error) {
	b := taskbulk.Request{Verb: v.verb, Actor: r.who.ID}
	if !r.mayBulk(ctx, v.op) {
		return b, errForbidden
	}
	q, err := r.search(text)
	if err == nil {
		b.Filter, err = q.Filter(r.resolve)
	}
	if isAs[*tasksearch.Error](err) || isAs[*taskkit.IDError](err) {
		return b, &problem{status: http.StatusUnprocessableEntity, title: "The search selects nothing", detail: clean(err.Error()), remedy: "Go back and correct the search."}
	}
	if r.who.Own && err == nil {
		if b.Filter.Owner != uuid.Nil && b.Filter.Owner != r.who.ID {
			return b, errForbidden
		}
		b.Filter.Owner = r.who.ID
	}
	return b, err
}

// bulkFormView is the data of the page on which a bulk operation is confirmed.
type bulkFormView struct {
	Query, Path, Button, Text, List string
	Number, At                      string
	Exact, Destroys, Everything     bool
	None                            bool
	Count                           string // the path by which all are counted; "": they are
	Unserved                        bool   // no live worker makes the requests
}

// Title implements titled.
func (v bulkFormView) Title() string { return v.Button + " all that match" }

// How many tasks are counted: at first, and on request.
const (
	bulkCounted    = 10_000
	bulkCountedAll = 1_000_000
)

// bulkForm reads the page on which a bulk operation is confirmed.
func bulkForm(r *request) (any, error) {
	ctx := r.Context()
	i := slices.IndexFunc(bulkVerbs, func(v bulkVerb) bool { return string(v.verb) == r.PathValue("verb") })
	if i < 0 {
		return nil, errNoPage
	}
	v, text := bulkVerbs[i], strings.TrimSpace(r.URL.Query().Get("q"))
	b, err := r.bulkRequest(ctx, v, text)
	if err != nil {
		return nil, err
	}
	b.All = true
	limit := int64(bulkCounted)
	if r.URL.Query().Get("count") == "all" {
		limit = bulkCountedAll
	}
	n, exact, err := taskbulk.Count(ctx, r.d.client, b, limit)
	if err != nil {
		return nil, bulkProblem(err)
	}
	view := bulkFormView{
		Query: text, Path: "bulk/" + string(v.verb), Button: v.button, Text: v.text, List: listPath(text), Destroys: v.destroys,
		Number: atLeast(n, exact), Exact: exact, None: exact && n == 0, At: time.Now().UTC().Format("15:04:05") + " UTC", Everything: selectsAll(text),
	}
	if !exact && limit < bulkCountedAll {
		view.Count = withParameter(bulkPath(v.verb, text), "count", "all")
	}
	_, served, err := taskbulk.Queue(ctx, r.d.client)
	view.Unserved = !served
	return view, err
}

// selectsAll reports whether a search selects all tasks.
func selectsAll(text string) bool { return text == "" || text == "all" }

// bulkActions returns the action of each verb.
func bulkActions() (all []action) {
	for _, v := range bulkVerbs {
		all = append(all, action{path: "bulk/" + string(v.verb), op: v.op, destroys: v.destroys, do: func(r *request, reason string) (string, string, error) { return submitBulk(r, v, reason) }})
	}
	return all
}

// bulkTimeout bounds how long the tasks of a bulk operation are read.
const bulkTimeout = time.Minute

// submitBulk submits the bulk operation of a search.
func submitBulk(r *request, v bulkVerb, reason string) (to, saying string, err error) {
	r.long(bulkTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), bulkTimeout)
	defer cancel()
	text := strings.TrimSpace(r.PostForm.Get("q"))
	b, err := r.bulkRequest(ctx, v, text)
	if err != nil {
		return "", "", err
	}
	b.Reason, b.All = reason, strings.TrimSpace(r.PostForm.Get("all")) == "all"
	if selectsAll(text) && !b.All {
		return "", "", &problem{status: http.StatusUnprocessableEntity, title: "The search is empty", detail: "It selects all tasks that the request is for.", remedy: "Go back and write the word all into the form, or search for fewer."}
	}
	queue, _, err := taskbulk.Queue(ctx, r.d.client)
	if err != nil {
		return "", "", err
	}
	id, err := r.submitOnce(ctx, b, queue)
	if err != nil {
		return "", "", err
	}
	return taskPath(id), "bulk", nil
}

// submitOnce submits a bulk operation, once for each form that was sent. What identifies it is kept with the task: another process that gets the form again finds it.
func (r *request) submitOnce(ctx context.Context, b taskbulk.Request, queue string) (taskkit.ID, error) {
	key := "dashboard:" + r.sentKey()
	id, _, err := taskbulk.Submit(ctx, r.d.db, b, taskkit.WithSchema(r.d.schema), taskkit.WithQueue(queue), taskkit.WithIdempotencyKey(key))
	if made, ok := errors.AsType[*taskkit.DuplicateError](err); ok && made.By == "idempotency key" {
		return made.ID, nil
	}
	if err != nil {
		return taskkit.ID{}, bulkProblem(err)
	}
	return id, nil
}

// bulkProblem returns the problem of a bulk operation that is refused, or the error.
func bulkProblem(err error) error {
	narrow := "Go back and narrow the search."
	switch {
	case errors.Is(err, taskbulk.ErrNone):
		return &problem{status: http.StatusConflict, title: "No task matches now", remedy: "Go back and reload the list."}
	case isAs[*taskbulk.FilterError](err), isAs[*taskbulk.TooManyError](err):
		return &problem{status: http.StatusUnprocessableEntity, title: "The search selects too much", detail: clean(strings.TrimPrefix(err.Error(), "taskbulk: ")), remedy: narrow}
	default:
		return err
	}
}

// bulkView is the data of the page Bulk.
type bulkView struct {
	Rows    []bulkRow
	Next    string // the path of the next page
	First   string // the path of the first page; "" on it
	Bounded bool   // fewer than its limit, and there are more to read
}

// bulkRow is a bulk operation.
type bulkRow struct {
	row

	What, Selection string
	Verbs           []filterLink // the forms of what is possible
}

const bulkRows = 20

// bulkOperations reads the page Bulk: the bulk operations among the newest tasks, and those that run or have failed.
func bulkOperations(r *request) (any, error) {
	ctx := r.Context()
	f := taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}, Limit: bulkRows}
	v := &bulkView{}
	if text := r.URL.Query().Get("before"); text != "" {
		before, err := uuid.Parse(text)
		if err != nil {
			return nil, errNoPage
		}
		f.Before, v.First = before, "bulk"
	}
	found, next, err := r.tasks(ctx, f)
	if err != nil {
		return nil, err
	}
	if next != uuid.Nil {
		v.Next, v.Bounded = withParameter("bulk", "before", next.String()), len(found) < bulkRows
	}
	if v.First == "" && v.Bounded {
		for _, older := range []taskkit.Filter{{Running: true}, {Statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure}}} {
			older.Kinds, older.Limit = f.Kinds, bulkRows
			more, _, err := r.tasks(ctx, older)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
		slices.SortFunc(found, func(a, b *taskkit.Task) int { return strings.Compare(b.ID.String(), a.ID.String()) })
		found = slices.CompactFunc(found, func(a, b *taskkit.Task) bool { return a.ID == b.ID })
	}
	rows, err := r.rows(ctx, found, new(tasksearch.Query))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		b := bulkRow{row: row, Verbs: r.bulkForms(ctx, row.Task)}
		typed, err := taskkit.Get(ctx, r.d.client, taskbulk.Kind, row.ID)
		switch {
		case errors.Is(err, taskkit.ErrNotFound):
			continue // deleted meanwhile
		case err != nil:
			return nil, err
		}
		b.What, b.Selection = string(typed.Spec.Verb), clean(typed.Spec.Selection)
		if typed.Spec.Reason != "" {
			b.Selection = fmt.Sprintf("%s. Reason: %s", b.Selection, clean(typed.Spec.Reason))
		}
		v.Rows = append(v.Rows, b)
	}
	return v, nil
}

// bulkForms leads to the forms of what makes sense with a bulk operation.
func (r *request) bulkForms(ctx context.Context, t *taskkit.Task) (links []filterLink) {
	for _, v := range verbs() {
		if slices.Contains([]taskhttp.Operation{taskhttp.OpStop, taskhttp.OpResume, taskhttp.OpContinue, taskhttp.OpRetry, taskhttp.OpRetryFailed}, v.op) && v.sensible(t) && r.may(ctx, v.op, t) {
			links = append(links, filterLink{v.button, taskPath(t.ID) + "/" + string(v.op)})
		}
	}
	return links
}
