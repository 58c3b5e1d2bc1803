package taskui

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// listView is the data of the page Tasks.
type listView struct {
	Query    string
	Problem  string // why the search selects nothing
	Tabs     []tab
	Filters  []filterLink
	Rows     []row
	Next     string // the path of the next page; it is there while there are older tasks
	First    string // the path of the first page; "" on it
	Bounded  bool   // the page has fewer tasks than its limit, and there are more to read
	Groups   []group
	MoreDead bool // the counts of the groups are lower bounds
	Operator bool
	Live     bool
	Bulk     []filterLink // what can be done with all that match
}

// tab leads to the tasks with a status.
type tab struct {
	Text, Count, Path string
	Here              bool
}

// filterLink leads to the same search without a filter.
type filterLink struct{ Text, Path string }

// row is a task of a list.
type row struct {
	*taskkit.Task

	Status, Class, Note, Path   string
	Bar                         bar
	KindPath, OwnerPath, Person string
}

// group are the failed tasks of a kind with a code.
type group struct {
	taskops.DeadGroup

	Path, Example string
}

const rowsOfPage = 50

// tabs are the tabs of the page, by the search that they add.
var tabs = []struct{ text, name, value string }{
	{"All", "", ""},
	{"Running", "is", "running"},
	{"Queued", "status", "queued"},
	{"Done", "status", "completed"},
	{"Failed", "status", "failed"},
}

// list reads the page Tasks.
func list(r *request) (any, error) {
	ctx := r.Context()
	v := &listView{Query: strings.TrimSpace(r.URL.Query().Get("q")), Operator: r.operator()}
	q, err := r.search(v.Query)
	if wrong, ok := errors.AsType[*tasksearch.Error](err); ok {
		v.Problem = clean(wrong.Error())
		q = new(tasksearch.Query)
	} else if err != nil {
		return nil, err
	}
	if v.Tabs, err = r.tabs(ctx, q); err != nil {
		return nil, err
	}
	for _, name := range tasksearch.Names() {
		if values := q.Values(name); values != nil {
			v.Filters = append(v.Filters, filterLink{clean(name + ":" + strings.Join(values, ",")), listPath(q.With(name, ""))})
		}
	}
	if v.Problem != "" {
		return v, nil
	}
	f, err := q.Filter(r.resolve)
	if wrong, ok := errors.AsType[*taskkit.IDError](err); ok {
		v.Problem = clean(wrong.Error())
		return v, nil
	} else if err != nil {
		return nil, err
	}
	if text := r.URL.Query().Get("before"); text != "" {
		if f.Before, err = uuid.Parse(text); err != nil {
			return nil, errNoPage
		}
		v.First = listPath(v.Query)
	}
	f.Limit = rowsOfPage
	found, next, err := r.tasks(ctx, f)
	if err != nil {
		if option, ok := errors.AsType[*taskkit.OptionError](err); ok {
			v.Problem = plain(option)
			return v, nil
		}
		return nil, err
	}
	if v.Rows, err = r.rows(ctx, found, q); err != nil {
		return nil, err
	}
	if next != uuid.Nil {
		v.Next = withParameter(listPath(v.Query), "before", next.String())
		v.Bounded = len(found) < rowsOfPage
	}
	v.Live = f.Before == uuid.Nil
	v.Bulk = r.bulkLinks(ctx, v.Query, f)
	return v, r.groups(ctx, q, v)
}

// search parses a search. Only operators may search by what only they see of a task: the answers would show others which values are right.
func (r *request) search(text string) (*tasksearch.Query, error) {
	q, err := tasksearch.Parse(text)
	if err != nil || r.operator() {
		return q, err
	}
	for _, name := range []string{"queue", "reference", "unique-key"} {
		if values := q.Values(name); values != nil {
			return nil, &tasksearch.Error{Word: name + ":" + strings.Join(values, ","), Problem: "only operators may search by " + name + ": leave it out"}
		}
	}
	return q, nil
}

// tabs returns the tabs of a search, with counts where there is no other filter.
func (r *request) tabs(ctx context.Context, q *tasksearch.Query) ([]tab, error) {
	var counts countsOfTasks
	only := q.With("status", "") == "" || q.With("is", "") == "" // the tab alone
	if only && r.mayOperate(ctx, taskhttp.OpReadJobs) {
		var err error
		if counts, err = r.counts(ctx); err != nil {
			return nil, err
		}
	}
	sums := map[string]string{
		"Queued": counts.text(taskkit.StatusQueued), "Done": counts.text(taskkit.StatusCompleted),
		"Failed": counts.text(taskkit.StatusFailure, taskkit.StatusError),
	}
	here := "All"
	if slices.Contains(q.Values("is"), "running") {
		here = "Running"
	}
	all := make([]tab, len(tabs))
	for i, t := range tabs {
		if values := q.Values("status"); t.name == "status" && len(values) == 1 && values[0] == t.value {
			here = t.text
		}
		text := q.With("status", "")
		if slices.Contains(q.Values("is"), "running") {
			text = mustParse(text).With("is", "")
		}
		if t.name != "" {
			text = mustParse(text).With(t.name, t.value)
		}
		all[i] = tab{Text: t.text, Path: listPath(text), Count: sums[t.text]}
	}
	for i := range all {
		all[i].Here = all[i].Text == here
	}
	return all, nil
}

// mustParse parses the text of a search that was parsed before.
func mustParse(text string) *tasksearch.Query {
	q, err := tasksearch.Parse(text)
	if err != nil {
		return new(tasksearch.Query)
	}
	return q
}

// searchFor returns the text of a search with one filter.
func searchFor(name, value string) string { return new(tasksearch.Query).With(name, value) }

// rows makes the rows of tasks. q is the search that a row adds to.
func (r *request) rows(ctx context.Context, found []*taskkit.Task, q *tasksearch.Query) ([]row, error) {
	explained, err := r.d.client.ExplainAll(ctx, found)
	if err != nil {
		return nil, err
	}
	all := make([]row, len(found))
	for i, t := range found {
		all[i] = row{
			Task: t, Status: statusText(t), Class: statusClass(t), Path: taskPath(t.ID), Bar: newBar(t.Progress),
			KindPath: listPath(q.With("kind", t.Kind)), Person: r.shortName(t.Owner), OwnerPath: listPath(q.With("owner", person(t.Owner))),
		}
		if r.operator() {
			all[i].Note = clean(explained[i].Note)
		} else if hasFailed(t) {
			all[i].Note, _ = splitDetail(t.StatusDetail)
		} else {
			all[i].Note = causes[explained[i].Cause]
		}
	}
	return all, nil
}

// groups reads the failed tasks by kind and code, for a search of all that have failed, or all of a kind.
func (r *request) groups(ctx context.Context, q *tasksearch.Query, v *listView) error {
	kinds := q.Values("kind")
	if q.With("status", "") != searchFor("kind", strings.Join(kinds, ",")) || !slices.Equal(q.Values("status"), []string{"failed"}) || v.First != "" {
		return nil
	}
	if !r.mayOperate(ctx, taskhttp.OpReadDead) {
		return nil
	}
	found, err := r.dead(ctx)
	if err != nil {
		return err
	}
	dead := found.all
	for _, g := range dead.Groups {
		if kinds != nil && !slices.Contains(kinds, g.Kind) {
			continue
		}
		text := mustParse(mustParse(searchFor("status", "failed")).With("kind", g.Kind)).With("code", g.Code)
		v.Groups = append(v.Groups, group{g, listPath(text), taskPath(g.Example)})
	}
	slices.SortStableFunc(v.Groups, func(a, b group) int { return int(b.Tasks - a.Tasks) })
	v.MoreDead = len(dead.Truncated) > 0
	return nil
}

// listPath returns the path of the page Tasks with a search. A colon is escaped: html/template would take what is before it for a scheme.
func listPath(query string) string {
	if query == "" {
		return "list"
	}
	return "list?" + url.Values{"q": {query}}.Encode()
}
