package taskui_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
)

// hostile is a text that would break a page that did not escape it: markup, a line feed, a NUL-like control and a mark that turns the direction.
const hostile = "<script>alert(1)</script>\"'\n\u202egnp.\u0007//../x?a=b#c"

// shown is how a page has the text hostile.
const shown = "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;\n\uFFFDgnp.\uFFFD//../x?a=b#c"

// opsSpec is the spec of the kind of these tests.
type opsSpec struct {
	People []int `json:"people"`
}

// opsKind is a kind as taskgen generates it.
var opsKind = taskkit.NewKind(taskkind.Definition[opsSpec, struct{}, struct{}]{
	Name: "ops_demo", BatchSize: 2, Preview: true, Targets: taskkind.TargetsIn("people", func(s *opsSpec) *[]int { return &s.People }),
})

// opsExecutor fails tasks with a negative person, waits with person 0, and notes all others.
type opsExecutor struct{ begun, proceed chan struct{} }

func (x opsExecutor) Execute(ctx context.Context, b *taskkit.Batch[opsSpec, struct{}]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		switch {
		case p < 0:
			return next, taskkit.Permanent("mailbox_full", errMailbox)
		case p == 0:
			x.begun <- struct{}{}
			select {
			case <-x.proceed:
			case <-ctx.Done():
				return next, ctx.Err()
			}
		default:
			b.Note(p, "greeted")
		}
	}
	return next, nil
}

var errMailbox = errors.New("the mailbox is full")

// ops returns an operator of the database.
func (e *env) ops() *taskops.Operator { return taskops.New(e.client) }

// submit stores a task of the kind of these tests.
func (e *env) submit(tb testing.TB, people []int, opts ...taskkit.SubmitOption) taskkit.ID {
	tb.Helper()
	id, err := taskkit.Submit(tb.Context(), e.db.DB, opsKind, opsSpec{people}, append([]taskkit.SubmitOption{taskkit.WithSchema(e.schema()), taskkit.OwnedBy(e.people[operator].ID)}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// start runs a worker until the function that it returns is called.
func (e *env) start(tb testing.TB, x opsExecutor) (stop func()) {
	tb.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, opsKind, x)
	w, err := taskkit.NewWorker(tb.Context(), e.db.DB, &r, taskkit.Config{
		Schema: e.schema(), Queues: []string{"default"}, Poll: 20 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	}
}

// run runs a worker until these tasks have ended.
func (e *env) run(tb testing.TB, ids ...taskkit.ID) {
	tb.Helper()
	stop := e.start(tb, opsExecutor{})
	for _, id := range ids {
		if _, err := e.client.Wait(tb.Context(), id, nil); err != nil {
			tb.Error(err)
		}
	}
	stop()
}

// register stores workers as their processes would.
func (e *env) register(tb testing.TB, workers ...store.Process) store.Store {
	tb.Helper()
	s, err := dbstore.Open(tb.Context(), e.db.DB, e.db.Schema, dbstore.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Release(context.WithoutCancel(tb.Context())) })
	for _, w := range workers {
		if err := s.RegisterWorker(tb.Context(), w); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// containsAll reports whether a text contains all of these.
func containsAll(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(text, s) })
}

// lacks checks that a page does not have texts.
func (a answer) lacks(tb testing.TB, unwanted ...string) {
	tb.Helper()
	for _, text := range unwanted {
		if strings.Contains(a.body, text) {
			tb.Errorf("%q in\n%s", text, a.body)
		}
	}
}

var (
	formOf   = regexp.MustCompile(`(?s)<form method="post" action="([^"]+)">(.*?)</form>`)
	hiddenOf = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	nextLink = regexp.MustCompile(`<a href="([^"]+)" rel="next">`)
	// unescape returns the text of an attribute.
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&", "&#43;", "+")
)

// operate sends the form of a page for an action that has these texts, as a browser does: with its hidden fields.
func (e *env) operate(tb testing.TB, page, action, has string, fields url.Values) answer {
	tb.Helper()
	a := e.page(tb, page, http.StatusOK)
	for _, m := range formOf.FindAllStringSubmatch(a.body, -1) {
		if !strings.HasSuffix(m[1], action) || !strings.Contains(m[2], has) {
			continue
		}
		form := url.Values{}
		for _, f := range hiddenOf.FindAllStringSubmatch(m[2], -1) {
			form.Set(f[1], unescape.Replace(f[2]))
		}
		maps.Copy(form, fields)
		return e.do(tb, http.MethodPost, "/tasks/"+action, form.Encode())
	}
	tb.Fatalf("no form for %s with %q in\n%s", action, has, a.body)
	return answer{}
}

// done follows the redirect of an action and returns the page.
func (e *env) done(tb testing.TB, a answer) answer {
	tb.Helper()
	if a.status != http.StatusSeeOther {
		tb.Fatalf("%d %v\n%s", a.status, a.header, a.body)
	}
	to := a.header.Get("Location")
	for strings.HasPrefix(to, "../") || strings.HasPrefix(to, "./") {
		_, to, _ = strings.Cut(to, "/")
	}
	return e.page(tb, "/tasks/"+to, http.StatusOK)
}

// refusesOthers checks that a page of operators and its actions are refused to the levels below, and are not in their navigation.
func (e *env) refusesOthers(tb testing.TB, page string, actions ...string) {
	tb.Helper()
	link := `href="./` + page + `"`
	for _, person := range []string{owner, nothing} {
		e.as(person).page(tb, "/tasks/"+page, http.StatusForbidden)
	}
	e.as("stranger").page(tb, "/tasks/"+page, http.StatusUnauthorized)
	e.page(tb, "/tasks/", http.StatusOK).wants(tb, link)
	e.as(owner).page(tb, "/tasks/", http.StatusOK).lacks(tb, link)
	for _, action := range actions {
		for _, person := range []string{operator, reader, owner, nothing} {
			a := e.as(person).do(tb, http.MethodPost, "/tasks/"+action, url.Values{"key": {"k"}, "reason": {"r"}}.Encode())
			if a.status != http.StatusForbidden {
				tb.Errorf("%s by %s: %d, want 403", action, person, a.status)
			}
		}
		if a := e.do(tb, http.MethodPost, "/tasks/"+action, "key=k&reason=r", "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
			tb.Errorf("%s from another site: %d, want 403", action, a.status)
		}
		if a := e.do(tb, http.MethodGet, "/tasks/"+action, ""); a.status != http.StatusMethodNotAllowed {
			tb.Errorf("%s by GET: %d, want 405", action, a.status)
		}
	}
	a := e.as(reader).page(tb, "/tasks/"+page, http.StatusOK)
	if len(actions) > 0 {
		a.lacks(tb, `<form method="post"`)
	}
}
