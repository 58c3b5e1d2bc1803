package taskhttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskkind"
)

// Whatever a client gets wrong has a problem, and nothing is stored.
func TestWrongRequests(t *testing.T) {
	t.Parallel()
	id := path(uuid.New())
	cases := map[string]struct {
		method, path, body string
		header             []string
		want               *taskhttp.Error
	}{
		"no body":                {"POST", startPath, "", nil, taskhttp.ErrMediaType},
		"form":                   {"POST", startPath, "mode=done", []string{"Content-Type", "application/x-www-form-urlencoded"}, taskhttp.ErrMediaType},
		"latin":                  {"POST", startPath, `{"mode":"done"}`, []string{"Content-Type", "application/json; charset=latin1"}, taskhttp.ErrMediaType},
		"compressed":             {"POST", startPath, `{"mode":"done"}`, []string{"Content-Encoding", "gzip"}, taskhttp.ErrMediaType},
		"cut short":              {"POST", startPath, `{"mode":"do`, nil, taskhttp.ErrNotJSON},
		"two values":             {"POST", startPath, `{"mode":"done"} {}`, nil, taskhttp.ErrNotJSON},
		"duplicate name":         {"POST", startPath, `{"mode":"done","mode":"fail"}`, nil, taskhttp.ErrNotJSON},
		"deep":                   {"POST", startPath, strings.Repeat("[", 100_000), nil, taskhttp.ErrNotJSON},
		"NUL":                    {"POST", startPath, `{"mode":"done","token":"\u0000"}`, nil, taskhttp.ErrNotJSON},
		"bad UTF-8":              {"POST", startPath, "{\"mode\":\"done\",\"token\":\"\xff\"}", nil, taskhttp.ErrNotJSON},
		"huge":                   {"POST", startPath, `{"token":"` + strings.Repeat("x", taskjson.MaxSize) + `"}`, nil, taskhttp.ErrBodyTooLarge},
		"another type":           {"POST", startPath, `{"mode":1}`, nil, taskhttp.ErrSpec},
		"null":                   {"POST", startPath, `null`, nil, taskhttp.ErrSpec},
		"unknown name":           {"POST", startPath, `{"mode":"done","x":1}`, nil, taskhttp.ErrSpec},
		"rule":                   {"POST", startPath, `{"mode":"done","items":["1","2","3","4"]}`, nil, taskhttp.ErrSpec},
		"long key":               {"POST", startPath, `{"mode":"done"}`, []string{"Idempotency-Key", strings.Repeat("k", 256)}, taskhttp.ErrBadParameter},
		"empty key":              {"POST", startPath, `{"mode":"done"}`, []string{"Idempotency-Key", ""}, taskhttp.ErrBadParameter},
		"preview of no kind":     {"POST", startPath + "?preview=true", `{"mode":"done"}`, nil, taskhttp.ErrBadParameter},
		"another site":           {"POST", startPath, `{"mode":"done"}`, []string{"Sec-Fetch-Site", "cross-site"}, taskhttp.ErrCrossOrigin},
		"nobody":                 {"POST", startPath, `{"mode":"done"}`, []string{"Person", ""}, taskhttp.ErrUnauthenticated},
		"the zero person":        {"GET", "/jobs", "", []string{"Person", uuid.UUID{}.String()}, taskhttp.ErrUnauthenticated},
		"retired":                {"POST", "/retired", `{"mode":"done"}`, nil, taskhttp.ErrRetired},
		"method of a start":      {"GET", startPath, "", nil, taskhttp.ErrMethod},
		"method of a job":        {"PUT", id, "{}", nil, taskhttp.ErrMethod},
		"method of a document":   {"DELETE", "/jobs/openapi.json", "", nil, taskhttp.ErrMethod},
		"no path":                {"GET", "/nothing", "", nil, taskhttp.ErrNoSuchPath},
		"path with dots":         {"GET", "/jobs/../jobs", "", nil, taskhttp.ErrNoSuchPath},
		"path with two slashes":  {"POST", "/" + startPath, `{"mode":"done"}`, nil, taskhttp.ErrNoSuchPath},
		"path that ends in one":  {"GET", "/jobs/", "", nil, taskhttp.ErrNoSuchPath},
		"no id":                  {"GET", "/jobs/none", "", nil, taskhttp.ErrNoSuchJob},
		"id in another form":     {"GET", "/jobs/%7B" + uuid.NewString() + "%7D", "", nil, taskhttp.ErrNoSuchJob},
		"id with NUL":            {"GET", "/jobs/%00", "", nil, taskhttp.ErrNoSuchJob},
		"unknown status":         {"GET", "/jobs?status=GONE", "", nil, taskhttp.ErrBadParameter},
		"status of a task":       {"GET", "/jobs?status=EXECUTING", "", nil, taskhttp.ErrBadParameter},
		"kind that is none":      {"GET", "/jobs?kind=%00", "", nil, taskhttp.ErrBadParameter},
		"forged cursor":          {"GET", "/jobs?cursor=1", "", nil, taskhttp.ErrBadParameter},
		"limit":                  {"GET", "/jobs?limit=-1", "", nil, taskhttp.ErrBadParameter},
		"endless limit":          {"GET", "/jobs?limit=99999999999999999999", "", nil, taskhttp.ErrBadParameter},
		"parameter that is none": {"GET", "/jobs?owner=1", "", nil, taskhttp.ErrBadParameter},
		"parameter twice":        {"GET", "/jobs?limit=1&limit=2", "", nil, taskhttp.ErrBadParameter},
		"bad query":              {"GET", "/jobs?limit=%zz", "", nil, taskhttp.ErrBadParameter},
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		retired := taskkit.NewKind(taskkind.Definition[workSpec, workState, workResult]{Name: "old", Retired: true})
		taskhttp.Start(e.jobs, "POST /retired", retired)
		for name, c := range cases {
			r := e.do(t, c.method, c.path, c.body, c.header...)
			check(t, name, r, c.want.Status, c.want)
			leaksNothing(t, name, r)
		}
		if n := tasks(t, e); n != 0 {
			t.Errorf("%d tasks are stored", n)
		}
	})
}

// leaksNothing checks that an answer has nothing of Go or SQL.
func leaksNothing(t *testing.T, name string, r reply) {
	t.Helper()
	here, err := os.Getwd() // the sources are there
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"taskkit:", "workSpec", "taskhttp.", "SELECT", "INSERT", "sql", "pgx", "goroutine", ".go:", "uint", here, stateMarker, detailMarker, secretMarker} {
		if strings.Contains(r.body, word) {
			t.Errorf("%s: %s in %s", name, word, r.body)
		}
	}
}

// Of a job: parameters of a watch and bodies of requests.
func TestWrongRequestsOfAJob(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		j := e.start(t, done)
		self := path(j.ID)
		for _, q := range []string{
			"maximumPollingPeriod=-1s", "maximumPollingPeriod=61s", "maximumPollingPeriod=1e9h", "maximumPollingPeriod=", "maximumPollingPeriod=30",
			"progressPeriod=-1s", "progressPeriod=x", "since=17", "since=", "wait=1",
		} {
			check(t, q, e.do(t, "GET", self+"?"+q, ""), 400, taskhttp.ErrBadParameter)
		}
		check(t, "reason", e.do(t, "POST", self+"/pause", `{"reason":"`+strings.Repeat("x", 1001)+`"}`), 400, taskhttp.ErrBadParameter)
		check(t, "body", e.do(t, "POST", self+"/pause", `{"why":"x"}`), 400, taskhttp.ErrNotJSON)
		check(t, "form", e.do(t, "POST", self+"/pause", `x`, "Content-Type", "text/plain"), 415, taskhttp.ErrMediaType)
		check(t, "parameter", e.do(t, "POST", self+"/pause?x=1", ""), 400, taskhttp.ErrBadParameter)
		check(t, "parameter", e.do(t, "DELETE", self+"?x=1", ""), 400, taskhttp.ErrBadParameter)
		check(t, "action", e.do(t, "POST", self+"/explode", ""), 404, taskhttp.ErrNoSuchPath)
		if got := e.do(t, "GET", self, "").job(t); got.Revision != j.Revision {
			t.Errorf("it has changed: %+v", got)
		}
	})
}

// A refused spec says where and why, and not what.
func TestRefusedSpecHasPointers(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	for body, want := range map[string]taskhttp.FieldProblem{
		`{"mode":"x"}`: {Pointer: "/mode", Detail: "breaks the rule oneof=done fail hold count"},
		`{"mode":"done","items":["` + strings.Repeat("x", 21) + `"]}`: {Pointer: "/items/0", Detail: "breaks the rule max=20"},
		`{"mode":"done","items":[1]}`:                                 {Pointer: "/items/0", Detail: "is of another type than the field"},
		`{"mode":"done","surplus":1}`:                                 {Pointer: "/surplus", Detail: "there is no field of this name"},
		`{"mode":"done","token":{"` + secretMarker + `":"\u0000"}}`:   {Pointer: "/token/***", Detail: "has the character NUL"},
	} {
		if p := e.do(t, "POST", startPath, body).problem(t); !slices.Equal(p.Errors, []taskhttp.FieldProblem{want}) {
			t.Errorf("%s: %+v, want %+v", body, p.Errors, want)
		}
	}
}

// period is a spec with a rule of its own.
type period struct {
	From  int        `json:"from"`
	Until int        `json:"until"`
	Mark  unwritable `json:"mark"`
}

func (p *period) Validate() error {
	if p.Until < p.From {
		return errors.New("the period ends before it begins")
	}
	return nil
}

// unwritable is a text that can be read and not unwritable.
type unwritable string

func (w unwritable) MarshalText() ([]byte, error) {
	if w != "" {
		return nil, errors.New(secretMarker)
	}
	return nil, nil
}

func (w *unwritable) UnmarshalText(text []byte) error {
	*w = unwritable(text)
	return nil
}

// The text of the error of Validate is for the client, as the documentation says; that of another error of a spec is not.
func TestTextOfValidateIsSent(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	taskhttp.Start(e.jobs, "POST /periods", taskkit.NewKind(taskkind.Definition[period, workState, workResult]{Name: "period"}))
	r := e.do(t, "POST", "/periods", `{"from":2,"until":1,"mark":""}`)
	check(t, "Validate", r, 422, taskhttp.ErrSpec)
	if p := r.problem(t); p.Detail != "the period ends before it begins" || p.Errors != nil {
		t.Errorf("Validate: %s", r.body)
	}
	r = e.do(t, "POST", "/periods", `{"from":1,"until":2,"mark":"x"}`)
	check(t, "a spec that cannot be encoded", r, 422, taskhttp.ErrSpec)
	leaksNothing(t, "a spec that cannot be encoded", r)
}

// panicking is a spec whose rules have a mistake.
type panicking struct {
	Next *panicking
	Name string
}

func (p *panicking) Validate() error { return errors.New(p.Next.Next.Name) }

// A mistake in the program does not show in the answer.
func TestMistakesOfTheProgramAreNotSent(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t), func(c *taskhttp.Config) {
		c.Authorize = func(ctx context.Context, c taskhttp.Caller, op taskhttp.Operation, t *taskkit.Task) error {
			if op == taskhttp.OpList {
				panic(secretMarker)
			}
			return taskhttp.OwnJobs(ctx, c, op, t)
		}
	})
	kind := taskkit.NewKind(taskkind.Definition[panicking, workState, workResult]{Name: "panicking"})
	taskhttp.Start(e.jobs, "POST /panicking", kind)
	r := e.do(t, "POST", "/panicking", `{"Next":null,"Name":""}`)
	check(t, "spec", r, 422, taskhttp.ErrSpec)
	leaksNothing(t, "spec", r)
	r = e.do(t, "GET", "/jobs", "")
	check(t, "panic", r, 500, taskhttp.ErrInternal)
	leaksNothing(t, "panic", r)
	if r.problem(t).Incident == "" {
		t.Error("no incident")
	}
}

// Without a database the answer is 503, and says nothing about it.
func TestDatabaseThatIsGone(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	e := newEnv(t, db)
	db.Close()
	for _, r := range []reply{
		e.do(t, "POST", startPath, `{"mode":"done"}`), e.do(t, "GET", path(uuid.New()), ""), e.do(t, "GET", "/jobs", ""), e.do(t, "DELETE", path(uuid.New()), ""),
	} {
		check(t, "answer", r, 503, taskhttp.ErrUnavailable)
		leaksNothing(t, "answer", r)
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

func TestNewNeedsCallerAndAuthorize(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	whole := taskhttp.Config{Caller: callerOf, Authorize: taskhttp.OwnJobs}
	for name, c := range map[string]taskhttp.Config{
		"caller": {Authorize: whole.Authorize}, "authorize": {Caller: whole.Caller},
		"prefix": {Caller: whole.Caller, Authorize: whole.Authorize, Prefix: "jobs/"},
	} {
		if _, err := taskhttp.New(db.DB, c); !isOption(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := taskhttp.New(nil, whole); !isOption(err) {
		t.Errorf("database: %v", err)
	}
	s, err := taskhttp.New(db.DB, whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"/x", "GET /x", "POST /x/{id}", "POST x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", pattern)
				}
			}()
			taskhttp.Start(s, pattern, workKind)
		}()
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "*", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("OPTIONS *: %d", w.Code)
	}
}

func isOption(err error) bool {
	_, ok := errors.AsType[*taskkit.OptionError](err)
	return ok
}

// A client that sends a body for ever is answered.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	e.jobs.BodyWithin(50 * time.Millisecond)
	j := e.start(t, done)
	conn, err := (&net.Dialer{}).DialContext(testdb.Within(t), "tcp", e.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s/pause HTTP/1.1\r\nHost: localhost\r\nPerson: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", path(j.ID), e.person)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(testdb.Patience(t))); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	_ = answer.Body.Close()
}
