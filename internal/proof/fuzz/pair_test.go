package fuzz_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

type spec struct {
	Text string         `json:"text,omitempty"`
	Raw  any            `json:"raw,omitempty"`
	Map  map[string]int `json:"map,omitempty"`
	How  string         `json:"how,omitempty"` // where the executor puts Text
	Data []byte         `json:"data,omitempty"`
}

type state struct {
	Text string `json:"text"`
}

var kind = taskkit.NewKind(taskkind.Definition[spec, state, string]{
	Name: "input",
})

// side is one of the two databases.
type side struct {
	name   string
	db     *testdb.DB
	schema taskkit.SubmitOption
	client *taskkit.Client
	r      *taskkit.Registry
	ends   ends
}

func newSide(tb testing.TB, name string, db *testdb.DB) *side {
	tb.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, schema); err != nil {
		tb.Fatal(err)
	}
	s := &side{name: name, db: db, schema: taskkit.WithSchema(schema), client: taskkit.NewClient(db, taskkit.WithSchema(schema)), r: new(taskkit.Registry)}
	taskkit.Register(s.r, kind, executor{})
	return s
}

// both are the databases, PostgreSQL first.
func both(tb testing.TB) []*side {
	tb.Helper()
	return []*side{newSide(tb, "postgres", testdb.Postgres(tb)), newSide(tb, "sqlite", testdb.SQLite(tb))}
}

// ends tells when a worker has reported the end of a task.
type ends struct {
	mu sync.Mutex
	of map[taskkit.ID]chan struct{}
}

// at returns what is closed then.
func (e *ends) at(id taskkit.ID) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.make(id)
}

func (e *ends) make(id taskkit.ID) chan struct{} {
	if e.of == nil {
		e.of = make(map[taskkit.ID]chan struct{})
	}
	c := e.of[id]
	if c == nil {
		c = make(chan struct{})
		e.of[id] = c
	}
	return c
}

// Observe implements [taskkit.Observer].
func (e *ends) Observe(_ context.Context, event taskevent.Event) {
	ended, ok := event.(taskevent.TaskEnded)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.make(ended.Task):
	default:
		close(e.of[ended.Task])
	}
}

// work runs a worker until the test ends.
func (s *side) work(tb testing.TB) {
	tb.Helper()
	schema := s.db.Schema
	w, err := taskkit.NewWorker(tb.Context(), s.db.DB, s.r, taskkit.Config{
		Schema: schema, Slots: 2, Poll: time.Millisecond, PollListening: 5 * time.Millisecond,
		MaxAttempts: 1, BatchTimeout: 40 * time.Second, Observer: &s.ends, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("worker: %v", err)
		}
	})
}

// executor puts a task's bytes where its spec says.
type executor struct{}

func (executor) Execute(_ context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	text := string(b.Spec.Data)
	switch b.Spec.How {
	case "state":
		b.State.Text = text
	case "error":
		return taskkit.More, errors.New(text)
	case "code":
		return taskkit.More, taskkit.Permanent(text, errors.New(text))
	case "panic":
		panic(text)
	case "item":
		b.Fail(text, taskkit.Permanent(text, errors.New(text)))
	}
	return taskkit.Done, nil
}

func (executor) Report(_ context.Context, b *taskkit.Batch[spec, state]) (string, error) {
	if b.Spec.How == "result" {
		return string(b.Spec.Data), nil
	}
	return "", nil
}

// typed fails the test unless an error is one of the package's own, which names
// what is wrong without a database's help.
func typed(tb testing.TB, err error) {
	tb.Helper()
	var (
		option *taskkit.OptionError
		spec   *taskkit.SpecError
		id     *taskkit.IDError
		js     *taskjson.Error
	)
	if err != nil && !errors.As(err, &option) && !errors.As(err, &spec) && !errors.As(err, &id) && !errors.As(err, &js) &&
		!errors.Is(err, taskkit.ErrNotFound) {
		tb.Fatalf("refused by %T: %.500v", err, err)
	}
}

// same fails the test unless all sides have said the same.
func same(tb testing.TB, what string, said []string) {
	tb.Helper()
	if len(slices.Compact(slices.Clone(said))) > 1 {
		tb.Fatalf("%s:\npostgres %.500q\nsqlite   %.500q", what, said[0], said[1])
	}
}

// storable reports whether both databases can hold a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// ran submits a task that puts bytes somewhere, lets it run, and tells what came
// of it, in a form that both sides have alike.
func (s *side) ran(tb testing.TB, how string, data []byte) (*taskkit.Task, string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testdb.Patience(tb))
	defer cancel()
	id, err := taskkit.Submit(ctx, s.db, kind, spec{How: how, Data: data}, s.schema, taskkit.System())
	if err != nil {
		tb.Fatalf("%s: submit: %v", s.name, err)
	}
	select {
	case <-s.ends.at(id):
	case <-ctx.Done():
		tb.Fatalf("%s: the worker has not reported the end of the task that leaves %.200q as its %s", s.name, data, how)
	}
	t, err := s.client.Wait(ctx, id, nil)
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	attempts, err := s.client.Attempts(ctx, id, 10)
	if err != nil {
		tb.Fatal(err)
	}
	result, err := taskkit.Fetch(ctx, s.client, kind, id)
	if err != nil && !errors.Is(err, taskkit.ErrNoResult) {
		tb.Fatalf("%s: result: %v", s.name, err)
	}
	var st state
	if err := json.Unmarshal(t.StateJSON, &st); err != nil {
		tb.Fatalf("%s: state %.200q: %v", s.name, t.StateJSON, err)
	}
	desc, _, _ := strings.Cut(t.StatusDetail, "\ngoroutine ") // a stack differs
	told := fmt.Sprintf("%s %q state %q result %q", t.Status, desc, st.Text, result)
	for _, o := range []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped} {
		for i, err := range s.client.Items(ctx, id, o) {
			if err != nil {
				tb.Fatal(err)
			}
			told += fmt.Sprintf(" item %s %q %q %q", i.Key, i.Outcome, i.Code, i.Detail)
			if !json.Valid(i.Key) {
				tb.Fatalf("%s: the key of an item is %q, which is no JSON", s.name, i.Key)
			}
		}
	}
	for _, a := range attempts {
		detail, _, _ := strings.Cut(a.Detail, "\ngoroutine ")
		told += fmt.Sprintf(" attempt %q %q %q", a.Class, a.Code, detail)
		if !storable(a.Code + a.Detail + t.StatusDetail) {
			tb.Fatalf("%s: an error was not recorded cleanly: %q %q", s.name, a.Code, a.Detail)
		}
	}
	if !t.Ended() || t.Worker != "" || t.Stopped == nil {
		tb.Fatalf("%s: an illegal end: %+v", s.name, t)
	}
	return t, told
}
