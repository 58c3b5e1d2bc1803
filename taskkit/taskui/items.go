package taskui

import (
	"bufio"
	"context"
	"encoding/csv"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"taskkit.dev/internal/csvcell"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// itemsView is the data of the page of the items of a task.
type itemsView struct {
	Task     *taskkit.Task
	Outcomes []outcomeTab
	Outcome  taskkit.Outcome
	Items    []itemRow
	Next     string // the path of the next page
	File     string // the path of the file of all
	Forms    []verbForm
	Problem  string // why they cannot be listed
	Operator bool
}

// Title implements titled.
func (v *itemsView) Title() string { return "Items of " + v.Task.Kind }

// itemRow is an item of the list.
type itemRow struct {
	taskkit.Item

	Name string
}

// outcomeTab leads to the items with an outcome.
type outcomeTab struct {
	Outcome taskkit.Outcome
	Count   string // "" if it is not known
	Path    string
	Here    bool
}

// outcomeTabs returns the outcomes of the items of a task.
func outcomeTabs(t *taskkit.Task, here taskkit.Outcome) []outcomeTab {
	p := t.Progress
	counts := map[taskkit.Outcome]int64{taskkit.OutcomeSucceeded: p.Done, taskkit.OutcomeFailed: p.Failed, taskkit.OutcomeSkipped: p.Skipped}
	if p.Total >= 0 {
		counts[taskkit.OutcomeUnprocessed] = max(p.Total-p.Processed(), 0)
	}
	var tabs []outcomeTab
	for _, o := range outcomes {
		tab := outcomeTab{o, "", itemsPath(t.ID, o, ""), o == here}
		if n, ok := counts[o]; ok {
			tab.Count = count(n)
		}
		tabs = append(tabs, tab)
	}
	return tabs
}

// outcomes are the outcomes of items, those first that need a person.
var outcomes = []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeDeferred, taskkit.OutcomeSucceeded, taskkit.OutcomeUnprocessed}

func itemsPath(id taskkit.ID, o taskkit.Outcome, cursor string) string {
	q := url.Values{"outcome": {string(o)}}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return taskPath(id) + "/items?" + q.Encode()
}

const (
	itemsOfPage = 100
	fileTimeout = 10 * time.Minute
)

// items reads the page of the items of a task.
func items(r *request) (any, error) {
	ctx := r.Context()
	t, o, err := r.itemsOf(ctx)
	if err != nil {
		return nil, err
	}
	v := &itemsView{Task: t, Outcome: o, Outcomes: outcomeTabs(t, o), Operator: r.operator(), File: taskPath(t.ID) + "/items.csv?outcome=" + string(o)}
	found, next, err := r.d.client.ItemsPage(ctx, t.ID, o, r.URL.Query().Get("cursor"), itemsOfPage)
	if isAs[*taskkit.ItemsError](err) {
		v.Problem, err = plain(err), nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if !v.Operator {
			i.Detail = ""
		}
		i.Detail = clean(i.Detail)
		v.Items = append(v.Items, itemRow{i, clean(i.Text())})
	}
	if next != "" {
		v.Next = itemsPath(t.ID, o, next)
	}
	forms, _, err := r.offers(ctx, t)
	if err != nil {
		return nil, err
	}
	fitting := map[taskkit.Outcome]taskhttp.Operation{taskkit.OutcomeFailed: taskhttp.OpRetryFailed, taskkit.OutcomeUnprocessed: taskhttp.OpContinue}[o]
	for _, f := range forms {
		if f.Verb == string(fitting) {
			v.Forms = append(v.Forms, f)
		}
	}
	return v, nil
}

// itemsOf reads the task and the outcome that a request names.
func (r *request) itemsOf(ctx context.Context) (*taskkit.Task, taskkit.Outcome, error) {
	t, err := r.taskFor(ctx, taskhttp.OpItems)
	if err != nil {
		return nil, "", err
	}
	o := taskkit.Outcome(r.URL.Query().Get("outcome"))
	if o == "" {
		o = taskkit.OutcomeFailed
	}
	if !slices.Contains(outcomes, o) {
		return nil, "", errNoPage
	}
	return t, o, nil
}

// itemsFile writes all items with an outcome as CSV, with the columns of the command taskkit items.
func itemsFile(r *request) error {
	// A long file takes longer than a page. The connection has the time of a page for each part of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), fileTimeout)
	defer cancel()
	t, o, err := r.itemsOf(r.Context())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(r.w)
	rows := csv.NewWriter(out)
	begin := func() {
		r.asFile("items-" + short(t.ID) + "-" + string(o) + ".csv")
		header := []string{"item", "outcome", "code", "detail", "position", "attempt", "time", "stage", "task", "source"}
		if o == taskkit.OutcomeFailed {
			header = append(header, "corrected")
		}
		_ = rows.Write(header)
	}
	n := 0
	for i, err := range r.d.client.Items(ctx, t.ID, o) {
		if err != nil {
			if n == 0 {
				return err
			}
			r.cut(err)
		}
		if n == 0 {
			begin()
		}
		if n%1000 == 0 {
			r.long(r.d.config.Timeout)
		}
		n++
		if !r.operator() {
			i.Detail = ""
		}
		if rows.Write(itemCells(&i, o)) != nil {
			return nil // the browser has gone
		}
	}
	if n == 0 {
		begin()
	}
	rows.Flush()
	_ = out.Flush()
	return nil
}

// itemCells returns the cells of an item in a file.
func itemCells(i *taskkit.Item, o taskkit.Outcome) []string {
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	id := func(t taskkit.ID) string {
		if t == (taskkit.ID{}) {
			return ""
		}
		return t.String()
	}
	at := ""
	if !i.Created.IsZero() {
		at = i.Created.UTC().Format(time.RFC3339Nano)
	}
	cells := []string{
		csvcell.Write(i.Text()), string(i.Outcome), csvcell.Write(i.Code), csvcell.Write(i.Detail), number(i.Position), number(int64(i.Attempt)), at,
		csvcell.Write(i.Stage), id(i.Task), id(i.Source),
	}
	if o == taskkit.OutcomeFailed {
		cells = append(cells, "")
	}
	return cells
}

// asFile sets the headers of a file that the browser saves.
func (r *request) asFile(name string) {
	h := r.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

// cut ends a file that cannot be completed, so that the browser does not take it for whole.
func (r *request) cut(err error) {
	r.d.config.Logger.ErrorContext(r.Context(), "a file was cut off", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler)
}
