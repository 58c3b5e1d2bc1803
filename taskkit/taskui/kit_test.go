package taskui_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// env is a dashboard over the database of a test.
type env struct {
	db     *testdb.DB
	client *taskkit.Client
	web    *httptest.Server
	people map[string]taskui.Person // by the header Person
	person string
}

// The people of the tests.
const (
	admin    = "admin"
	operator = "operator"
	stopper  = "stopper" // may only stop
	reader   = "reader"
	owner    = "owner" // sees its own tasks
	nothing  = "nothing"
)

var errUnknown = errors.New("MARKER-ACCESS: the request has no session")

// newEnv serves a dashboard of migrated tables.
func newEnv(tb testing.TB, db *testdb.DB, configure ...func(*taskui.Config)) *env {
	tb.Helper()
	return newEnvOf(tb, db, registry(), configure...)
}

// newEnvOf is newEnv with the kinds of a registry.
func newEnvOf(tb testing.TB, db *testdb.DB, kinds *taskkit.Registry, configure ...func(*taskui.Config)) *env {
	tb.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	e := &env{db: db, client: taskkit.NewClient(db.DB, taskkit.WithSchema(schema)), person: admin, people: people()}
	c := taskui.Config{
		Access: func(r *http.Request) (taskui.Person, error) {
			p, ok := e.people[r.Header.Get("Person")]
			if !ok {
				return p, errUnknown
			}
			return p, nil
		},
		Timeout: time.Minute, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}
	for _, f := range configure {
		f(&c)
	}
	h, err := taskui.New(e.client, kinds, c)
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/tasks/", h)
	e.web = httptest.NewServer(mux)
	tb.Cleanup(e.web.Close)
	return e
}

// sqlite returns a database with taskkit's tables, for what does not depend on the kind of database.
func sqlite(tb testing.TB) *testdb.DB {
	tb.Helper()
	db := testdb.SQLite(tb)
	if err := taskkit.Migrate(tb.Context(), db.DB, taskkit.DefaultSchema); err != nil {
		tb.Fatal(err)
	}
	return db
}

// people returns the people of a test by their names.
func people() map[string]taskui.Person {
	return map[string]taskui.Person{
		admin:    {ID: uuid.New(), Name: "Ada Admin", Level: taskui.Admin},
		operator: {ID: uuid.New(), Level: taskui.Operate},
		stopper:  {ID: uuid.New(), Level: taskui.Operate, Operations: stopOnly},
		reader:   {ID: uuid.New(), Level: taskui.Read},
		owner:    {ID: uuid.New(), Level: taskui.Operate, Own: true},
		nothing:  {ID: uuid.New()},
	}
}

// as returns the same dashboard for another person.
func (e *env) as(person string) *env {
	other := *e
	other.person = person
	return &other
}

// with gives a dashboard the people of another one.
func (e *env) with(people map[string]taskui.Person) *env {
	e.people = people
	return e
}

// answer is an answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request. Redirects are not followed.
func (e *env) do(tb testing.TB, method, path, body string, header ...string) answer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testdb.Patience(tb))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, e.web.URL+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Person", e.person)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	client := *e.web.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// page reads a page and checks what holds for all of them.
func (e *env) page(tb testing.TB, path string, status int, header ...string) answer {
	tb.Helper()
	a := e.do(tb, http.MethodGet, path, "", header...)
	if a.status != status {
		tb.Fatalf("GET %s: %d, want %d\n%s", path, a.status, status, a.body)
	}
	checkPage(tb, path, a)
	return a
}

const wantPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// docsLink is the only link to elsewhere: to the documentation of a finding.
var docsLink = regexp.MustCompile(`<a class="docs" href="https://taskkit\.dev/doctor#[a-z_]+" rel="noreferrer">`)

var inline = regexp.MustCompile(`(?i)<[a-z][^\s>]*(?:\s+[a-z-]+(?:="[^"]*")?)*\s+(?:style|on[a-z]+)\s*=|<script[^>]*>[^<]|<style|\s(?:href|src|action)="(?:https?:|/)`)

// checkPage checks headers, and that a page has nothing inline and nothing from elsewhere.
func checkPage(tb testing.TB, path string, a answer) {
	tb.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": wantPolicy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := a.header.Get(name); got != want {
			tb.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
		}
	}
	if found := inline.FindString(docsLink.ReplaceAllString(a.body, "")); found != "" {
		tb.Errorf("GET %s has %q", path, found)
	}
	if !strings.Contains(a.body, "<main") || strings.Contains(a.body, "ZgotmplZ") || strings.Contains(a.body, "<no value>") {
		tb.Errorf("GET %s is no whole page:\n%s", path, a.body)
	}
}

var keyForm = regexp.MustCompile(`name="key" value="([^"]+)"`)

// send sends the form of an action as the page has it: with its key and revision.
func (e *env) send(tb testing.TB, page, action string, fields url.Values, header ...string) answer {
	tb.Helper()
	a := e.page(tb, page, http.StatusOK)
	form := url.Values{"key": {firstOf(tb, keyForm, a.body)}}
	if m := regexp.MustCompile(`name="revision" value="([^"]*)"`).FindStringSubmatch(a.body); m != nil {
		form.Set("revision", m[1])
	}
	maps.Copy(form, fields)
	return e.do(tb, http.MethodPost, action, form.Encode(), header...)
}

// firstOf returns the first group of a match.
func firstOf(tb testing.TB, re *regexp.Regexp, body string) string {
	tb.Helper()
	m := re.FindStringSubmatch(body)
	if m == nil {
		tb.Fatalf("no %s in\n%s", re, body)
	}
	return m[1]
}

var styleLink = regexp.MustCompile(`href="\./(assets/style-[^"]+)"`)

var (
	childLink = regexp.MustCompile(`<td><a href="(?:\.\./)+task/([0-9a-f-]{36})`)
	olderLink = regexp.MustCompile(`href="\./([^"]+)" rel="next"`)
)

var revisionForm = regexp.MustCompile(`name="revision" value="([^"]+)"`)

// eventually polls a condition that has no signal.
func eventually(tb testing.TB, f func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testdb.Patience(tb))
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatal("it does not become so")
		}
	}
}

var scriptLink = regexp.MustCompile(`src="\./(assets/live-[^"]+)"`)
