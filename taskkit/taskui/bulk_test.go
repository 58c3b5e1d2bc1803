package taskui_test

import (
	"context"
	"errors"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskui"
)

var bulkLink = regexp.MustCompile(`href="\./(bulk/retry\?[^"]+)"`)

// bulk sends the form of a bulk operation, and returns the page of its task.
func (e *env) bulk(tb testing.TB, verb, query string, fields url.Values) (taskkit.ID, answer) {
	tb.Helper()
	form := url.Values{"q": {query}}
	maps.Copy(form, fields)
	a := e.send(tb, "/tasks/bulk/"+verb+"?"+url.Values{"q": {query}}.Encode(), "/tasks/bulk/"+verb, form)
	if a.status != http.StatusSeeOther {
		tb.Fatalf("%s: %d\n%s", verb, a.status, a.body)
	}
	to := strings.TrimPrefix(a.header.Get("Location"), "../")
	page := e.page(tb, "/tasks/"+to, http.StatusOK)
	id, err := taskkit.ParseID(firstOf(tb, idFact, page.body))
	if err != nil {
		tb.Fatal(err)
	}
	return id, page
}

// From the search of what has failed, one form retries all that match: it says how many, and leads to the task that does it.
func TestBulkFromASearch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/bulk", http.StatusOK).wants(t, "There is no bulk operation.")
		e.page(t, "/tasks/bulk/pause?q=kind:pieces", http.StatusOK).wants(t, "0 tasks match", "No live worker has the kind", "There is nothing to do.", "no <form method=\"post\"")
		e.work(t)
		e.page(t, "/tasks/kinds", http.StatusOK).wants(t, "no taskkit_bulk")
		e.page(t, "/tasks/kind/taskkit_bulk", http.StatusNotFound)
		var failed []taskkit.ID
		for range 3 {
			failed = append(failed, submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}, Fail: detailMarker}))
		}
		other := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
		for _, id := range append(failed, other) {
			e.ended(t, id)
		}
		list := e.page(t, "/tasks/list?q=status:failed+code:target_gone", http.StatusOK)
		list.wants(t, ">Retry<", ">Delete<", "no >Pause<", "no >Stop<")
		form := e.page(t, "/tasks/"+html.UnescapeString(firstOf(t, bulkLink, list.body)), http.StatusOK)
		form.wants(t, "3 tasks match", "exact at", "status:failed code:target_gone", "Retry 3 tasks", "no No live worker", "no required")
		id, page := e.bulk(t, "retry", "status:failed code:target_gone", url.Values{"reason": {"the target is back"}})
		page.wants(t, "The tasks are frozen", "the target is back", "retry", "code target_gone")
		if task := e.ended(t, id); task.Progress.Done != 3 || task.Status != taskkit.StatusCompleted || task.Owner != e.people[admin].ID {
			t.Errorf("%+v of %s", task.Progress, task.Owner)
		}
		for _, of := range failed {
			e.ended(t, of)
			events, err := e.client.Events(t.Context(), of, 10)
			if err != nil || len(events) != 1 || events[0].Action != "retry" || events[0].Actor != e.people[admin].ID || events[0].Reason != "the target is back" {
				t.Errorf("%+v, %v", events, err)
			}
		}
		e.page(t, "/tasks/bulk", http.StatusOK).wants(t, "<b>retry</b>", "status ERROR, FAILURE; code target_gone. Reason: the target is back", "3 of 3 items", id.String())
		gone, _ := e.bulk(t, "delete", "status:failed", because)
		e.ended(t, gone)
		e.page(t, path(failed[0]), http.StatusNotFound)
		e.page(t, path(other), http.StatusOK)
	})
}

// A bulk operation is refused without a reason where it destroys, for an empty search without the word all, and for who may not. A form that is sent
// twice is one operation.
func TestBulkIsChecked(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	mine := submit(t, e.as(owner), piecesKind, piecesSpec{})
	other := submit(t, e, piecesKind, piecesSpec{})
	send := func(e *env, verb string, form url.Values) answer {
		t.Helper()
		form.Set("key", "key "+verb+form.Encode())
		return e.do(t, http.MethodPost, "/tasks/bulk/"+verb, form.Encode())
	}
	for what, c := range map[string]struct {
		person, verb string
		form         url.Values
		want         int
	}{
		"no reason":          {admin, "stop", url.Values{"q": {"kind:pieces"}}, http.StatusUnprocessableEntity},
		"a blank reason":     {admin, "delete", url.Values{"q": {"kind:pieces"}, "reason": {" \t"}}, http.StatusUnprocessableEntity},
		"an empty search":    {admin, "pause", url.Values{}, http.StatusUnprocessableEntity},
		"the word elsewhere": {admin, "pause", url.Values{"q": {"all"}}, http.StatusUnprocessableEntity},
		"another word":       {admin, "pause", url.Values{"all": {"ALL"}}, http.StatusUnprocessableEntity},
		"no such filter":     {admin, "pause", url.Values{"q": {"color:red"}}, http.StatusUnprocessableEntity},
		"another status":     {admin, "retry", url.Values{"q": {"status:queued"}}, http.StatusUnprocessableEntity},
		"nothing matches":    {admin, "retry", url.Values{"q": {"kind:pieces"}}, http.StatusConflict},
		"bulk operations":    {admin, "pause", url.Values{"q": {"kind:taskkit_bulk"}}, http.StatusUnprocessableEntity},
		"a reader":           {reader, "pause", url.Values{"q": {"kind:pieces"}}, http.StatusForbidden},
		"who may only stop":  {stopper, "pause", url.Values{"q": {"kind:pieces"}}, http.StatusForbidden},
		"others' tasks":      {owner, "pause", url.Values{"q": {"kind:pieces owner:" + e.people[admin].ID.String()}}, http.StatusForbidden},
		"no verb":            {admin, "explode", url.Values{"q": {"kind:pieces"}}, http.StatusMethodNotAllowed},
	} {
		if a := send(e.as(c.person), c.verb, c.form); a.status != c.want {
			t.Errorf("%s: %d, want %d\n%s", what, a.status, c.want, a.body)
		}
	}
	if n, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}}); err != nil || len(n) > 0 {
		t.Errorf("%d bulk operations, %v", len(n), err)
	}
	e.as(reader).page(t, "/tasks/list", http.StatusOK).wants(t, "no All that match")
	e.as(reader).page(t, "/tasks/bulk/pause?q=kind:pieces", http.StatusForbidden)
	e.as(stopper).page(t, "/tasks/list", http.StatusOK).wants(t, ">Stop<", "no >Delete<")
	e.page(t, "/tasks/bulk/explode", http.StatusNotFound)
	e.page(t, "/tasks/bulk/pause", http.StatusOK).wants(t, `name="all"`, "2 tasks match")

	// Own tasks only, and once.
	form := url.Values{"q": {"kind:pieces"}, "key": {"once"}}.Encode()
	e.as(owner).page(t, "/tasks/bulk/pause?q=kind:pieces", http.StatusOK).wants(t, "1 task matches")
	first := e.as(owner).do(t, http.MethodPost, "/tasks/bulk/pause", form)
	second := newEnv(t, e.db).with(e.people).as(owner).do(t, http.MethodPost, "/tasks/bulk/pause", form) // another process
	if first.status != http.StatusSeeOther || first.header.Get("Location") != second.header.Get("Location") {
		t.Errorf("%d %s, then %d %s", first.status, first.header.Get("Location"), second.status, second.header.Get("Location"))
	}
	if stop := e.as(owner).do(t, http.MethodPost, "/tasks/bulk/stop", form+"&reason=x"); stop.status != http.StatusSeeOther || stop.header.Get("Location") == first.header.Get("Location") {
		t.Errorf("the key with another verb: %d %s", stop.status, stop.header.Get("Location"))
	}
	e.work(t)
	eventually(t, func() bool {
		task, err := e.client.Task(t.Context(), mine)
		return err == nil && task.Control == taskkit.ControlPause || err == nil && task.Ended()
	})
	if task, err := e.client.Task(t.Context(), other); err != nil || task.Control == taskkit.ControlPause {
		t.Errorf("another's task is paused: %v", err)
	}
}

// With a rule about single tasks, who may not operate in bulk cannot act on all that match.
func TestBulkNeedsTheOperationWithARule(t *testing.T) {
	t.Parallel()
	errNo := errors.New("no")
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.Authorize = func(context.Context, taskhttp.Caller, taskhttp.Operation, *taskkit.Task) error { return nil }
		c.Operator = func(_ context.Context, c taskhttp.Caller, op taskhttp.Operation) error {
			if who, _ := c.Detail.(taskui.Person); op == taskhttp.OpBulk && who.Name != "Ada Admin" {
				return errNo
			}
			return nil
		}
	})
	submit(t, e, piecesKind, piecesSpec{})
	e.page(t, "/tasks/bulk/pause?q=kind:pieces", http.StatusOK).wants(t, "1 task matches")
	e.as(operator).page(t, "/tasks/bulk/pause?q=kind:pieces", http.StatusForbidden)
	e.as(operator).page(t, "/tasks/list", http.StatusOK).wants(t, "no All that match")
}
