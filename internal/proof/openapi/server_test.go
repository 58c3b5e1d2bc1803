package openapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// The markers are planted in what no client may see.
const (
	stateMarker  = "MARKER-STATE"
	detailMarker = "MARKER-DETAIL"
	secretMarker = "MARKER-SECRET"
	stackMarker  = "MARKER-STACK"
	personHeader = "Person"
	maxBody      = 64 << 10
)

// fuzzSpec has a value of each type of JSON.
type fuzzSpec struct {
	Mode  string    `json:"mode" validate:"oneof=done fail panic later"`
	Items []string  `json:"items"`
	Share float64   `json:"share,omitempty"`
	Count int8      `json:"count,omitempty"`
	Yes   *bool     `json:"yes,omitempty"`
	Below *fuzzSpec `json:"below,omitempty"`
	Token string    `json:"token,omitempty"`
}

type fuzzState struct {
	Note string `json:"note"`
}

type fuzzResult struct {
	Items int `json:"items"`
}

var fuzzKind = taskkit.NewKind(taskkind.Definition[fuzzSpec, fuzzState, fuzzResult]{
	Name: "fuzz", Preview: true, Secrets: []string{"/spec/token"},
	Targets: taskkind.TargetsIn("items", func(s *fuzzSpec) *[]string { return &s.Items }),
	SpecSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/Spec","$defs":{"Spec":{"type":"object","properties":{
		"mode":{"type":"string","enum":["done","fail","panic","later"]},"items":{"type":["array","null"],"items":{"type":"string"}},"share":{"type":"number"},
		"count":{"type":"integer","minimum":-128,"maximum":127},"yes":{"type":["boolean","null"]},
		"below":{"anyOf":[{"$ref":"#/$defs/Spec"},{"type":"null"}]},"token":{"type":"string"}},
		"required":["mode","items"],"additionalProperties":false}}}`),
	ResultSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"items":{"type":"integer"}},"required":["items"],"additionalProperties":false}`),
})

// fuzzed is the executor of fuzzKind.
type fuzzed struct{}

func (fuzzed) Execute(_ context.Context, b *taskkit.Batch[fuzzSpec, fuzzState]) (taskkit.Next, error) {
	b.State.Note = stateMarker
	switch b.Spec.Mode {
	case "fail":
		return taskkit.More, taskkit.Permanent("target_gone", errors.New(detailMarker))
	case "panic":
		panic(stackMarker)
	case "later":
		return taskkit.Later(time.Hour), nil
	}
	items, next := taskkit.Take(b, b.Spec.Items)
	for n, i := range items {
		b.Note(i, "noted")
		if n%2 == 0 {
			b.Fail(i, taskkit.Permanent("broken", errors.New(detailMarker)))
		}
	}
	return next, nil
}

func (fuzzed) Report(_ context.Context, b *taskkit.Batch[fuzzSpec, fuzzState]) (fuzzResult, error) {
	return fuzzResult{Items: len(b.Spec.Items)}, nil
}

// fileKind has tasks whose results are files.
var fileKind = taskkit.NewKind(taskkind.Definition[struct{}, fuzzState, fuzzResult]{Name: "file"})

// filed is the executor of fileKind.
type filed struct{}

func (filed) Execute(context.Context, *taskkit.Batch[struct{}, fuzzState]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func (filed) Report(context.Context, *taskkit.Batch[struct{}, fuzzState]) (fuzzResult, error) {
	return fuzzResult{Items: 3}, nil
}

// content is a file in memory.
type content struct{ *strings.Reader }

func (content) Close() error { return nil }

func openFile(_ context.Context, _ taskhttp.Caller, r fuzzResult) (*taskhttp.ResultFile, error) {
	return &taskhttp.ResultFile{Name: "/internal/items.bin", Content: content{strings.NewReader(strings.Repeat("item\n", r.Items))}}, nil
}

// env is a server of jobs with a worker.
type env struct {
	web    *httptest.Server
	jobs   *taskhttp.Server
	person uuid.UUID
	own    []taskkit.ID // jobs of the person
	others []taskkit.ID // jobs of other people
}

const (
	startPath    = "/fuzz"
	scheduleName = "nightly"
)

var errNoOperator = errors.New("no operator")

// operator lets the person who calls operate the service.
func (e *env) operator(_ context.Context, c taskhttp.Caller, _ taskhttp.Operation) error {
	if c.Owner != e.person {
		return errNoOperator
	}
	return nil
}

// newEnv makes a server whose database has jobs of each mode, of the person who calls and of others.
func newEnv(tb testing.TB, db *testdb.DB) *env {
	tb.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, schema); err != nil {
		tb.Fatal(err)
	}
	e := &env{person: uuid.New()}
	var err error
	e.jobs, err = taskhttp.New(db.DB, taskhttp.Config{
		Caller: func(r *http.Request) (taskhttp.Caller, error) {
			id, err := uuid.Parse(personOf(r))
			return taskhttp.Caller{Owner: id}, err
		},
		Authorize: taskhttp.OwnJobs, Operator: e.operator, Schema: schema, MaxBody: maxBody, Poll: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		tb.Fatal(err)
	}
	taskhttp.Start(e.jobs, "POST "+startPath, fuzzKind)
	taskhttp.FileResults(e.jobs, fileKind, openFile)
	e.web = httptest.NewServer(e.jobs)
	tb.Cleanup(e.web.Close)
	runWorker(tb, db, schema)
	client := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
	submit := func(mode string, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		if mode == "file" {
			return taskkit.Submit(tb.Context(), db.DB, fileKind, struct{}{}, opts...)
		}
		if mode == "preview" {
			mode, opts = "done", append(opts, taskkit.WithPreview())
		}
		return taskkit.Submit(tb.Context(), db.DB, fuzzKind, fuzzSpec{Mode: mode, Items: []string{"a", "b", "c"}, Token: secretMarker}, opts...)
	}
	nightly := fuzzSpec{Mode: "done", Items: []string{"a"}, Token: secretMarker}
	if err := taskops.SetSchedule(tb.Context(), db.DB, fuzzKind, scheduleName, nightly, taskops.Schedule{Cron: "30 2 * * *"}, taskkit.WithSchema(schema)); err != nil {
		tb.Fatal(err)
	}
	for _, mode := range []string{"done", "fail", "panic", "later", "preview", "file"} {
		for _, owner := range []uuid.UUID{e.person, uuid.New()} {
			id, err := submit(mode, taskkit.OwnedBy(owner), taskkit.WithSchema(schema))
			if err != nil {
				tb.Fatal(err)
			}
			if mode != "panic" && mode != "later" {
				if _, err := client.Wait(testdb.Within(tb), id, nil); err != nil {
					tb.Fatal(err)
				}
			}
			if owner == e.person {
				e.own = append(e.own, id)
			} else {
				e.others = append(e.others, id)
			}
		}
	}
	return e
}

// runWorker runs a worker until the test ends.
func runWorker(tb testing.TB, db *testdb.DB, schema string) {
	tb.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, fuzzKind, fuzzed{})
	taskkit.Register(&r, fileKind, filed{})
	w, err := taskkit.NewWorker(tb.Context(), db.DB, &r, taskkit.Config{
		Schema: schema, Slots: 4, Heartbeat: time.Second, DeadAfter: time.Minute,
		Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}
