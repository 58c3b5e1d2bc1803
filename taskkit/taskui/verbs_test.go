package taskui_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskui"
)

// verbsOf are the verbs with a form on the page of the task, by the text of their path.
var verbsOf = []string{"resume", "pause", "retry", "retry-failed", "continue", "apply", "change", "stop", "delete"}

// press sends the form of a verb as the page of the task has it, and returns the page to which the answer leads.
func (e *env) press(tb testing.TB, id taskkit.ID, verb string, fields url.Values) answer {
	tb.Helper()
	a := e.send(tb, path(id), path(id)+"/"+verb, fields)
	if a.status != http.StatusSeeOther {
		tb.Fatalf("%s: %d\n%s", verb, a.status, a.body)
	}
	// The location is relative to the path of the action.
	to := strings.TrimPrefix(a.header.Get("Location"), "../../")
	return e.page(tb, "/tasks/"+to, http.StatusOK)
}

var because = url.Values{"reason": {"the list was wrong"}}

// Each verb does what its button says, and is recorded with the person and the reason.
func TestVerbs(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		waiting := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
		e.press(t, waiting, "change", url.Values{"priority": {"4"}, "rate": {"2.5"}, "reason": {"not urgent"}}).wants(t, "The settings were changed.", "not urgent", "change requested by Ada Admin")
		if task, err := e.client.Task(t.Context(), waiting); err != nil || task.Priority != taskkit.PriorityIdle {
			t.Errorf("changed: %v, %v", task, err)
		}
		e.press(t, waiting, "pause", nil).wants(t, "pauses after its current batch", `id="do-resume"`, "no id=\"do-pause\"", `class="status paused"`)
		e.press(t, waiting, "resume", nil).wants(t, "The task goes on.", `id="do-pause"`)
		e.press(t, waiting, "stop", because).wants(t, `class="status stopped"`, "stop requested by Ada Admin: the list was wrong", `id="do-continue"`)
		e.press(t, waiting, "delete", because).wants(t, "The task was deleted.")
		e.page(t, path(waiting), http.StatusNotFound)

		e.work(t)
		list := piecesSpec{Pieces: []string{"a", "bad1", "bad2"}}
		parts := submit(t, e, piecesKind, list)
		e.ended(t, parts)
		again := e.press(t, parts, "retry-failed", because)
		again.wants(t, "This task processes the failed items.", "the list was wrong", "Follows")
		e.press(t, parts, "retry-failed", because).wants(t, firstOf(t, idFact, again.body)) // the same task
		failed := submit(t, e, piecesKind, piecesSpec{Pieces: list.Pieces, Fail: detailMarker})
		e.ended(t, failed)
		e.press(t, failed, "retry", nil).wants(t, "The task is tried again.")
		e.ended(t, failed)
		e.press(t, failed, "continue", nil).wants(t, "This task processes what was left.")
		preview := submit(t, e, piecesKind, list, taskkit.WithPreview())
		e.ended(t, preview)
		e.press(t, preview, "apply", nil).wants(t, "This task does what the preview has previewed.", "Follows")

		careful := submit(t, e.as(operator), piecesKind, list, taskkit.WithApproval())
		eventually(t, func() bool {
			task, err := e.client.Task(t.Context(), careful)
			return err == nil && task.Control == taskkit.ControlPause
		})
		e.as(operator).page(t, path(careful), http.StatusOK).wants(t, "Approve is not possible")
		e.page(t, path(careful), http.StatusOK).wants(t, `<a class="button" href="../approvals/`+careful.String()+`">Approve</a>`, `no id="do-approve"`, "no Approve is not possible")
		e.done(t, e.decide(t, careful, "approve", "")).wants(t, "The task was approved.")
		e.ended(t, careful)
	})
}

var idFact = regexp.MustCompile(`<dt>Id</dt><dd><bdi>([0-9a-f-]{36})`)

// What a person may not do is neither offered nor done, whatever the request says.
func TestEachVerbIsRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
	form := func(key string) string {
		admins := e.page(t, path(id), http.StatusOK)
		return url.Values{"key": {key}, "revision": {firstOf(t, revisionForm, admins.body)}, "reason": {"x"}, "priority": {"4"}}.Encode()
	}
	for _, verb := range verbsOf {
		for person, want := range map[string]int{reader: http.StatusForbidden, stopper: http.StatusForbidden, owner: http.StatusNotFound, nothing: http.StatusForbidden, "stranger": http.StatusUnauthorized} {
			if person == stopper && verb == "stop" {
				continue
			}
			if a := e.as(person).do(t, http.MethodPost, path(id)+"/"+verb, form(person+verb)); a.status != want {
				t.Errorf("%s by %s: %d, want %d", verb, person, a.status, want)
			}
			if a := e.as(person).do(t, http.MethodGet, path(id)+"/"+verb, ""); a.status != want {
				t.Errorf("the form of %s for %s: %d, want %d", verb, person, a.status, want)
			}
		}
		e.as(operator).do(t, http.MethodGet, path(id)+"/"+verb, "")
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
			if a := e.do(t, method, path(id)+"/"+verb, ""); a.status != http.StatusMethodNotAllowed {
				t.Errorf("%s of %s: %d", method, verb, a.status)
			}
		}
	}
	e.as(reader).page(t, path(id), http.StatusOK).wants(t, "no <dialog", "no commandfor")
	e.as(stopper).page(t, path(id), http.StatusOK).wants(t, `id="do-stop"`, "no id=\"do-delete\"", "no id=\"do-pause\"")
	if task, err := e.client.Task(t.Context(), id); err != nil || task.Status != taskkit.StatusQueued || task.Control != "" || task.Priority != taskkit.PriorityNormal {
		t.Errorf("%v, %v", task, err)
	}
	if events, err := e.client.Events(t.Context(), id, 10); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
}

// A form that comes from another site is refused, and one without a key, a reason that is required, or of another state.
func TestFormsAreChecked(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
	page := e.page(t, path(id), http.StatusOK)
	fields := url.Values{"key": {firstOf(t, keyForm, page.body)}, "revision": {firstOf(t, revisionForm, page.body)}, "reason": {"x"}}
	with := func(name, value string) string {
		f := maps.Clone(fields)
		f.Set(name, value)
		return f.Encode()
	}
	for name, c := range map[string]struct {
		body   string
		header []string
		want   int
	}{
		"another site":       {fields.Encode(), []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another origin":     {fields.Encode(), []string{"Origin", "https://other.example"}, http.StatusForbidden},
		"no reason":          {with("reason", "  "), nil, http.StatusUnprocessableEntity},
		"a long reason":      {with("reason", strings.Repeat("é", 1001)), nil, http.StatusUnprocessableEntity},
		"a very long one":    {with("reason", strings.Repeat("x", 10_000)), nil, http.StatusUnprocessableEntity},
		"a NUL":              {with("reason", "a\x00b"), nil, http.StatusUnprocessableEntity},
		"no key":             {with("key", ""), nil, http.StatusBadRequest},
		"no revision":        {with("revision", ""), nil, http.StatusConflict},
		"another revision":   {with("revision", "0123456789abcdef"), nil, http.StatusConflict},
		"a form that is cut": {"reason=%zz", nil, http.StatusBadRequest},
		"a large form":       {with("reason", strings.Repeat("x", 2<<20)), nil, http.StatusRequestEntityTooLarge},
	} {
		if a := e.do(t, http.MethodPost, path(id)+"/stop", c.body, c.header...); a.status != c.want {
			t.Errorf("%s: %d, want %d\n%s", name, a.status, c.want, a.body)
		}
	}
	for _, c := range []string{"priority=x", "rate=x", "parallel=x", "priority=9", "rate=-1", "stopafter=lots", ""} {
		if a := e.do(t, http.MethodPost, path(id)+"/change", fields.Encode()+"&"+c); a.status != http.StatusUnprocessableEntity {
			t.Errorf("change with %q: %d\n%s", c, a.status, a.body)
		}
	}
	if task, err := e.client.Task(t.Context(), id); err != nil || task.Status != taskkit.StatusQueued || task.Control != "" {
		t.Errorf("%v, %v", task, err)
	}
	// What the form of the open task said is not what a paused task is.
	if _, err := e.client.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if a := e.do(t, http.MethodPost, path(id)+"/stop", fields.Encode()); a.status != http.StatusConflict {
		t.Errorf("the form of an earlier state: %d", a.status)
	}
}

// A form that is sent several times at once makes its change once, and each answer leads to the same page.
func TestFormIsSentOnce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
		page := e.page(t, path(id), http.StatusOK)
		form := url.Values{"key": {firstOf(t, keyForm, page.body)}, "revision": {firstOf(t, revisionForm, page.body)}, "reason": {"once"}, "priority": {"3"}}.Encode()
		var clicks sync.WaitGroup
		answers := make([]answer, 8)
		for i := range answers {
			clicks.Go(func() { answers[i] = e.do(t, http.MethodPost, path(id)+"/change", form) })
		}
		clicks.Wait()
		for _, a := range answers {
			if a.status != http.StatusSeeOther || a.header.Get("Location") != answers[0].header.Get("Location") {
				t.Errorf("%d to %q\n%s", a.status, a.header.Get("Location"), a.body)
			}
		}
		events, err := e.client.Events(t.Context(), id, 10)
		if err != nil || len(events) != 1 || events[0].Reason != "priority 3: once" || events[0].Actor != e.people[admin].ID {
			t.Errorf("%+v, %v", events, err)
		}
		if a := e.as(operator).do(t, http.MethodPost, path(id)+"/change", form); a.status != http.StatusSeeOther {
			t.Errorf("the same key of another person: %d", a.status)
		}
		if events, err := e.client.Events(t.Context(), id, 10); err != nil || len(events) != 2 {
			t.Errorf("%+v, %v", events, err)
		}
	})
}

// An owner sees its own tasks, without what is for operators.
func TestOwnersSeeTheirOwn(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.work(t)
		theirs := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"bad"}})
		own := submit(t, e.as(owner), piecesKind, piecesSpec{Pieces: []string{"bad", "a"}, Token: secretMarker})
		failed := submit(t, e.as(owner), piecesKind, piecesSpec{Pieces: []string{"a"}, Fail: detailMarker})
		buckets := submit(t, e.as(owner), halvesKind, struct{}{})
		for _, id := range []taskkit.ID{theirs, own, failed, buckets} {
			e.ended(t, id)
		}
		o := e.as(owner)
		o.page(t, path(theirs), http.StatusNotFound)
		o.page(t, path(theirs)+"/items", http.StatusNotFound)
		if a := o.do(t, http.MethodGet, path(theirs)+"/items.csv", ""); a.status != http.StatusNotFound {
			t.Errorf("the file of another's items: %d", a.status)
		}
		hidden := []string{"no " + detailMarker, "no " + secretMarker, "no <dt>Worker", "no <dt>Queue", "no " + theirs.String()}
		o.page(t, path(own), http.StatusOK).wants(t, append(hidden, `id="do-retry-failed"`, "1 failed", "It is done.")...)
		o.page(t, path(failed), http.StatusOK).wants(t, append(hidden, "target_gone", `id="do-retry"`)...)
		o.page(t, path(own)+"/items", http.StatusOK).wants(t, append(hidden, "bad", "broken")...)
		if a := o.do(t, http.MethodGet, path(own)+"/items.csv", ""); strings.Contains(a.body, detailMarker) || !strings.Contains(a.body, "bad,failed,broken,,") {
			t.Errorf("the file of own items:\n%s", a.body)
		}
		o.page(t, path(buckets)+"/parts", http.StatusOK).wants(t, "bucket 2", "no buckets.csv")
		o.page(t, path(buckets)+"/buckets.csv", http.StatusForbidden)
		o.page(t, "/tasks/", http.StatusOK).wants(t, append(hidden, "no failed in 24 h")...)
		o.page(t, "/tasks/list", http.StatusOK).wants(t, append(hidden, own.String(), failed.String())...)
		o.page(t, "/tasks/list?q=status:failed", http.StatusOK).wants(t, append(hidden, failed.String(), "no Failures by kind")...)
		o.page(t, "/tasks/list?q=owner:"+e.people[admin].ID.String(), http.StatusOK).wants(t, append(hidden, "No task matches.", "no "+own.String())...)
		o.page(t, "/tasks/list?q="+theirs.String(), http.StatusOK).wants(t, "No task matches.")
		o.page(t, "/tasks/list?q="+own.String()[24:], http.StatusOK).wants(t, append(hidden, own.String())...)
		for _, query := range []string{"queue:default", "reference:r", "unique-key:k"} {
			o.page(t, "/tasks/list?q=kind:pieces+"+query, http.StatusOK).wants(t, append(hidden, "only operators may search by", "no "+own.String())...)
			o.page(t, "/tasks/bulk/stop?q="+query, http.StatusUnprocessableEntity).wants(t, "only operators may search by")
		}
		for _, id := range []taskkit.ID{theirs, uuid.New()} { // it is not said which of them exists
			for _, page := range []string{"list?q=", "bulk/stop?q="} {
				a := o.do(t, http.MethodGet, "/tasks/"+page+id.String()[24:], "")
				if !strings.Contains(a.body, "no task that you may see has an id that ends with that") {
					t.Errorf("the end of the id of another's task, or of none:\n%s", a.body)
				}
			}
		}
		o.press(t, own, "retry-failed", nil).wants(t, "This task processes the failed items.")
	})
}

// Texts of people and programs are shown as texts, whatever they have.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.work(t)
		const script = `<script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`"
		hostile := script + "\u202e\u2066\u200b\r\n\x1b[31m" + `javascript:alert(3)`
		e.people["hostile"] = taskui.Person{ID: uuid.New(), Name: hostile, Level: taskui.Admin}
		e.person = "hostile"
		bad := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"bad" + hostile, "odd" + hostile, "a" + hostile}}, taskkit.WithReason(hostile), taskkit.WithUniqueKey("r"+script))
		preview := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a" + hostile}}, taskkit.WithPreview())
		failed := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}, Fail: hostile}, taskkit.WithUniqueKey("u"+script))
		for _, id := range []taskkit.ID{bad, preview, failed} {
			e.ended(t, id)
		}
		if a := e.send(t, path(failed), path(failed)+"/retry", url.Values{"reason": {hostile}}); a.status != http.StatusSeeOther {
			t.Errorf("retry: %d\n%s", a.status, a.body)
		}
		e.ended(t, failed)
		query := url.Values{"q": {"reference:" + hostile}, "said": {hostile}, "refresh": {script}, "live": {""}}.Encode()
		for _, page := range []string{
			path(bad), path(preview), path(failed), path(bad) + "/items", path(bad) + "/items?outcome=skipped", path(bad) + "/items?outcome=succeeded",
			path(bad) + "/delete", "/tasks/list", "/tasks/list?q=status:failed", "/tasks/", "/tasks/list?" + query, path(bad) + "?" + query,
		} {
			a := e.page(t, page, http.StatusOK)
			for _, text := range []string{"<script>alert", "<img", "\u202e", "\u2066", "\x1b", "href=\"javascript"} {
				if strings.Contains(a.body, text) {
					t.Errorf("GET %s has %q:\n%s", page, text, a.body)
				}
			}
		}
		for _, p := range []string{"/tasks/" + url.PathEscape(hostile), path(bad) + "/" + url.PathEscape(script), "/tasks/task/" + url.PathEscape(hostile)} {
			if a := e.do(t, http.MethodGet, p, ""); a.status != http.StatusNotFound || strings.Contains(a.body, "<script>alert") {
				t.Errorf("GET %s: %d\n%s", p, a.status, a.body)
			}
		}
	})
}

// A task that was told to retry its failed items says which task does it, and offers it no more.
func TestRefusedVerbsSayWhy(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	e.work(t)
	id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"bad"}})
	e.ended(t, id)
	next := firstOf(t, idFact, e.press(t, id, "retry-failed", nil).body)
	page := e.page(t, path(id), http.StatusOK)
	page.wants(t, "Retry failed items is not possible", next, "no id=\"do-retry-failed\"")
	e.page(t, path(id)+"/retry-failed", http.StatusConflict).wants(t, next)
	e.page(t, path(id)+"/pause", http.StatusConflict)
	e.page(t, path(id)+"/eat", http.StatusNotFound)
	form := fmt.Sprintf("key=k&revision=%s&reason=x", firstOf(t, revisionForm, page.body))
	if a := e.do(t, http.MethodPost, path(id)+"/pause", form); a.status != http.StatusConflict || !strings.Contains(a.body, "not possible now") {
		t.Errorf("%d\n%s", a.status, a.body)
	}
}

// Of a unique key that is taken, an owner sees neither the key nor the task that has it, on the page and in the answer.
func TestOwnersDoNotSeeWhoHasAKey(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	mine := e.submit(t, []int{-1}, taskkit.OwnedBy(e.people[owner].ID), taskkit.WithUniqueKey(secretMarker))
	e.run(t, mine)
	page := e.as(owner).page(t, path(mine), http.StatusOK)
	form := url.Values{"key": {"k"}, "revision": {firstOf(t, revisionForm, page.body)}}.Encode()
	other := e.submit(t, []int{1}, taskkit.WithUniqueKey(secretMarker))
	hidden := []string{"Another task with the same unique key is open", "no " + other.String(), "no " + secretMarker}
	e.as(owner).page(t, path(mine), http.StatusOK).wants(t, append(hidden, "Retry is not possible")...)
	e.as(owner).page(t, path(mine)+"/retry", http.StatusConflict).wants(t, hidden...)
	a := e.as(owner).do(t, http.MethodPost, path(mine)+"/retry", form)
	if a.wants(t, hidden...); a.status != http.StatusConflict {
		t.Errorf("%d", a.status)
	}
	e.page(t, path(mine), http.StatusOK).wants(t, "Retry is not possible", other.String())
}

// The rules of a service for the protocol hold for the dashboard too: what they refuse is neither shown nor done.
func TestRulesOfTheProtocolHold(t *testing.T) {
	t.Parallel()
	var hidden taskkit.ID
	refused := errors.New("refused by a rule")
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.Authorize = func(_ context.Context, who taskhttp.Caller, op taskhttp.Operation, t *taskkit.Task) error {
			if p, ok := who.Detail.(taskui.Person); !ok || p.ID != who.Owner {
				return refused
			}
			if op == taskhttp.OpDelete || t != nil && (t.ID == hidden || t.SpecJSON != nil) {
				return refused
			}
			return nil
		}
		c.Operator = func(_ context.Context, _ taskhttp.Caller, op taskhttp.Operation) error {
			if op == taskhttp.OpReadQueues {
				return nil
			}
			return refused
		}
	})
	e.work(t)
	hidden = submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
	id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}, Fail: detailMarker})
	e.ended(t, hidden)
	e.ended(t, id)
	e.page(t, path(hidden), http.StatusNotFound)
	page := e.page(t, path(id), http.StatusOK)
	page.wants(t, "target_gone", "no "+detailMarker, `id="do-retry"`, "no id=\"do-delete\"", "no Workers", "Queues")
	e.page(t, "/tasks/list", http.StatusOK).wants(t, id.String(), "no "+hidden.String(), "no "+detailMarker, "no <small>0</small>")
	e.page(t, "/tasks/list?q=status:failed", http.StatusOK).wants(t, "no Failures by kind")
	e.page(t, "/tasks/", http.StatusOK).wants(t, "no "+hidden.String(), "no failed in 24 h", "waiting")
	e.page(t, "/tasks/workers", http.StatusForbidden)
	form := url.Values{"key": {"k"}, "revision": {firstOf(t, revisionForm, page.body)}, "reason": {"x"}}.Encode()
	if a := e.do(t, http.MethodPost, path(id)+"/delete", form); a.status != http.StatusForbidden {
		t.Errorf("delete: %d", a.status)
	}
}
