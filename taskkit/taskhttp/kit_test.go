package taskhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// workSpec says how a task of the tests goes.
type workSpec struct {
	Mode  string   `json:"mode" validate:"oneof=done fail hold count"`
	Items []string `json:"items,omitempty" validate:"max=3,dive,max=20"`
	Token string   `json:"token,omitempty"`
}

type workState struct {
	Note string `json:"note"`
}

type workResult struct {
	Items int `json:"items"`
}

// The modes of a workSpec.
const (
	done  = "done"
	fail  = "fail"
	hold  = "hold"
	count = "count" // one item with each signal
)

// The markers are what no client may see.
const (
	stateMarker  = "MARKER-STATE"
	detailMarker = "MARKER-DETAIL"
	secretMarker = "MARKER-SECRET"
)

var workKind = taskkit.NewKind(taskkind.Definition[workSpec, workState, workResult]{
	Name: "work", Secrets: []string{"/spec/token"},
	SpecSchema:   []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"mode":{"$ref":"#/$defs/Mode"},"items":{"type":"array","items":{"type":"string"}},"token":{"type":"string"}},"required":["mode"],"additionalProperties":false,"$defs":{"Mode":{"enum":["done","fail","hold","count"]}}}`),
	ResultSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"items":{"type":"integer"}},"required":["items"],"additionalProperties":false}`),
})

// work is the executor of workKind.
type work struct {
	begun sync.Map      // by task: a chan struct{} with a value for each batch that has begun and holds
	next  chan struct{} // lets such a batch end
}

// batches returns the channel of the batches of a task that have begun.
func (x *work) batches(id taskkit.ID) chan struct{} {
	c, _ := x.begun.LoadOrStore(id, make(chan struct{}, 100))
	return c.(chan struct{}) //nolint:errcheck,forcetypeassert // nothing else is stored
}

func (x *work) Execute(ctx context.Context, b *taskkit.Batch[workSpec, workState]) (taskkit.Next, error) {
	b.State.Note = stateMarker
	b.Total(4)
	switch b.Spec.Mode {
	case fail:
		return taskkit.More, taskkit.Permanent("target_gone", errors.New(detailMarker))
	case hold, count:
		if err := x.held(ctx, b.Task); err != nil {
			return taskkit.More, err
		}
		if b.Spec.Mode == count {
			b.Advance(1)
			return taskkit.More, nil
		}
	}
	b.Advance(4)
	return taskkit.Done, nil
}

// held says that a batch of a task has begun, and returns when it may end.
func (x *work) held(ctx context.Context, id taskkit.ID) error {
	select {
	case x.batches(id) <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-x.next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (*work) Report(context.Context, *taskkit.Batch[workSpec, workState]) (workResult, error) {
	return workResult{Items: 4}, nil
}

// env is a server of jobs over a database of a test.
type env struct {
	db     *testdb.DB
	schema string
	client *taskkit.Client
	jobs   *taskhttp.Server
	web    *httptest.Server
	work   *work
	person uuid.UUID // who calls
}

const (
	startPath  = "/people/work"
	piecesPath = "/people/pieces"
)

// newEnv makes a server without a worker.
func newEnv(tb testing.TB, db *testdb.DB, configure ...func(*taskhttp.Config)) *env {
	tb.Helper()
	e := &env{db: db, schema: db.Schema, person: uuid.New(), work: &work{next: make(chan struct{}, 100)}}
	if e.schema == "" {
		e.schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, e.schema); err != nil {
		tb.Fatal(err)
	}
	e.client = taskkit.NewClient(db.DB, taskkit.WithSchema(e.schema))
	c := taskhttp.Config{
		Caller: callerOf, Authorize: taskhttp.OwnJobs, Operator: onlyOperators, Schema: e.schema, Poll: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}
	for _, f := range configure {
		f(&c)
	}
	var err error
	if e.jobs, err = taskhttp.New(db.DB, c); err != nil {
		tb.Fatal(err)
	}
	taskhttp.Start(e.jobs, "POST "+startPath, workKind, taskhttp.Title[workSpec]("Work"))
	taskhttp.Start(e.jobs, "POST "+piecesPath, piecesKind)
	taskhttp.Start(e.jobs, "POST "+seatsPath, seatsKind, taskhttp.Before(beforeSeats))
	taskhttp.Start(e.jobs, "POST "+rollPath, rollKind)
	taskhttp.FileResults(e.jobs, rollKind, openRoll)
	e.web = httptest.NewServer(e.jobs)
	tb.Cleanup(e.web.Close)
	return e
}

// callerOf takes the header Person for the person who calls, and Operator for their role.
func callerOf(r *http.Request) (taskhttp.Caller, error) {
	id, err := uuid.Parse(r.Header.Get("Person"))
	return taskhttp.Caller{Owner: id, Detail: r.Header.Get("Operator") != ""}, err
}

var errNoOperator = errors.New("no operator")

// onlyOperators is the authorizer of the tests.
func onlyOperators(_ context.Context, c taskhttp.Caller, _ taskhttp.Operation) error {
	if c.Detail != true {
		return errNoOperator
	}
	return nil
}

// runWorker runs a worker until the test ends, which may register more kinds.
func (e *env) runWorker(tb testing.TB, more ...func(r *taskkit.Registry)) {
	tb.Helper()
	var r taskkit.Registry
	for _, register := range more {
		register(&r)
	}
	taskkit.Register(&r, workKind, e.work)
	taskkit.Register(&r, piecesKind, pieces{})
	taskkit.Register(&r, seatsKind, seats{})
	taskkit.Register(&r, rollKind, roll{})
	taskkit.Register(&r, teamKind, team{})
	taskkit.Register(&r, halvesKind, halves{e.work})
	taskkit.Register(&r, wordsKind, words{e.work})
	w, err := taskkit.NewWorker(tb.Context(), e.db.DB, &r, taskkit.Config{
		Schema: e.schema, Slots: 40, Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	tb.Cleanup(func() {
		for range cap(e.work.next) {
			select {
			case e.work.next <- struct{}{}:
			default:
			}
		}
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// job decodes a job.
func (r reply) job(tb testing.TB) taskhttp.Job {
	tb.Helper()
	var j taskhttp.Job
	if err := json.Unmarshal([]byte(r.body), &j); err != nil {
		tb.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return j
}

// problem decodes a problem.
func (r reply) problem(tb testing.TB) *taskhttp.Error {
	tb.Helper()
	var p taskhttp.Error
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		tb.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" || p.Status != r.status || p.Title == "" {
		tb.Errorf("%d with type %s is not a problem: %s", r.status, got, r.body)
	}
	return &p
}

// as returns the same server with another caller.
func (e *env) as(person uuid.UUID) *env {
	other := *e
	other.person = person
	return &other
}

// do makes a request, whose answer no cache may keep. Headers are given as name and value.
func (e *env) do(tb testing.TB, method, path, body string, header ...string) reply {
	tb.Helper()
	r := e.request(tb, method, path, body, header...)
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		tb.Errorf("%s %s: Cache-Control is %q", method, path, got)
	}
	return r
}

// request makes a request.
func (e *env) request(tb testing.TB, method, path, body string, header ...string) reply {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testdb.Patience(tb))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, e.web.URL+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Person", e.person.String())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := e.web.Client().Do(r)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(raw)}
}

// start starts a job of a mode.
func (e *env) start(tb testing.TB, mode string) taskhttp.Job {
	tb.Helper()
	r := e.do(tb, "POST", startPath, `{"mode":"`+mode+`"}`)
	isDone := r.status == http.StatusOK && r.job(tb).Done // by a worker, before the answer
	if r.status != http.StatusAccepted && !isDone {
		tb.Fatalf("start: %d %s", r.status, r.body)
	}
	return r.job(tb)
}

// held starts a job and returns when its batch has begun and waits.
func (e *env) held(tb testing.TB, mode string) taskhttp.Job {
	tb.Helper()
	j := e.start(tb, mode)
	e.batch(tb, j.ID)
	return j
}

// batch waits until another batch of a job has begun.
func (e *env) batch(tb testing.TB, id taskkit.ID) {
	tb.Helper()
	select {
	case <-e.work.batches(id):
	case <-time.After(testdb.Patience(tb)):
		tb.Fatal("no batch begins")
	}
}

// path is that of a job.
func path(id taskkit.ID) string { return "/jobs/" + id.String() }

// reach watches a job until it has a status.
func (e *env) reach(tb testing.TB, id taskkit.ID, s taskhttp.Status) taskhttp.Job {
	tb.Helper()
	since := ""
	for {
		r := e.do(tb, "GET", path(id)+"?maximumPollingPeriod=30s"+since, "")
		j := r.job(tb)
		if j.Status == s {
			return j
		}
		if r.status != http.StatusOK || j.Done {
			tb.Fatalf("%d %s, want %s", r.status, r.body, s)
		}
		since = "&since=" + j.Revision
	}
}

func decode(tb testing.TB, body string, v any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		tb.Fatalf("%s: %v", body, err)
	}
}
