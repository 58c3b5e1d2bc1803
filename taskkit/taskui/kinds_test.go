package taskui_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskkind"
)

// piecesSpec says how a task of the tests goes.
type piecesSpec struct {
	Pieces []string `json:"pieces"`
	Fail   string   `json:"fail,omitempty"` // the text of the error that ends the task
	Hold   bool     `json:"hold,omitempty"` // its first batch holds until the worker ends
	Token  string   `json:"token,omitempty"`
}

type piecesState struct {
	Note string `json:"note"`
}

type piecesResult struct {
	Text string `json:"text"`
}

type piecesBatch = taskkit.Batch[piecesSpec, piecesState]

// What only operators may see.
const (
	stateMarker  = "MARKER-STATE"
	detailMarker = "MARKER-DETAIL"
	secretMarker = "MARKER-SECRET"
)

var piecesKind = taskkit.NewKind(taskkind.Definition[piecesSpec, piecesState, piecesResult]{
	Name: "pieces", BatchSize: 2, MaxBatchSize: 2, Preview: true, Secrets: []string{"/spec/token"},
	Targets: taskkind.TargetsIn("pieces", func(s *piecesSpec) *[]string { return &s.Pieces }),
})

// pieces is the executor of piecesKind. An item that begins with bad fails, and one that begins with odd is skipped.
type pieces struct{ held chan taskkit.ID }

func (x pieces) Execute(ctx context.Context, b *piecesBatch) (taskkit.Next, error) {
	b.State.Note = stateMarker
	if b.Spec.Hold {
		x.held <- b.Task
		<-ctx.Done()
		return taskkit.More, ctx.Err()
	}
	if b.Spec.Fail != "" {
		return taskkit.More, taskkit.Permanent("target_gone", errors.New(b.Spec.Fail))
	}
	items, next := taskkit.Take(b, b.Spec.Pieces)
	for _, i := range items {
		switch {
		case strings.HasPrefix(i, "bad"):
			b.Fail(i, taskkit.Permanent("broken", errors.New(detailMarker)))
		case strings.HasPrefix(i, "odd"):
			b.Skip(i, "unwanted")
		default:
			b.Note(i, "noted "+i)
		}
	}
	return next, nil
}

func (pieces) Report(_ context.Context, b *piecesBatch) (piecesResult, error) {
	return piecesResult{Text: "result of " + b.State.Note}, nil
}

type halvesState struct {
	Items int `json:"items"`
}

var halvesKind = taskkit.NewKind(taskkind.Definition[struct{}, halvesState, struct{}]{
	Name: "halves", Segments: true, SpecSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false}`),
})

// halves is the executor of halvesKind.
type halves struct{}

func (halves) Segments(context.Context, *taskkit.Batch[struct{}, halvesState]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(4), Count: 2}.Plan()
}

func (halves) Execute(_ context.Context, b *taskkit.Batch[struct{}, halvesState]) (taskkit.Next, error) {
	b.Total(2)
	b.Advance(2)
	b.State.Items = 2
	return taskkit.Done, nil
}

func (halves) Merge(total *halvesState, part halvesState) error {
	total.Items += part.Items
	return nil
}

type stagedSpec struct {
	Second string `json:"second"` // with what the second stage fails; "": it does not
}

var stagedKind = taskkit.NewKind(taskkind.Definition[stagedSpec, halvesState, struct{}]{Name: "staged", Stages: true})

// staged is the executor of stagedKind.
type staged struct{}

func (staged) Stages(_ context.Context, b *taskkit.Batch[stagedSpec, halvesState]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{
		taskkit.NewStage("first", piecesKind, piecesSpec{Pieces: []string{"a", "bad"}}),
		taskkit.NewStage("second", piecesKind, piecesSpec{Pieces: []string{"b"}, Fail: b.Spec.Second}).After("first"),
	}, nil
}

func (staged) Execute(context.Context, *taskkit.Batch[stagedSpec, halvesState]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// held are the tasks whose batch has begun and holds. A worker of any test of the package sends its own.
func registryOf(held chan taskkit.ID) *taskkit.Registry {
	var r taskkit.Registry
	taskkit.Register(&r, piecesKind, pieces{held})
	taskkit.Register(&r, halvesKind, halves{})
	taskkit.Register(&r, stagedKind, staged{})
	taskbulk.Register(&r)
	return &r
}

func registry() *taskkit.Registry { return registryOf(nil) }

// schema returns the schema of the tables.
func (e *env) schema() string {
	if e.db.Schema == "" {
		return taskkit.DefaultSchema
	}
	return e.db.Schema
}

// work runs a worker until the test ends, and returns where it sends the tasks that hold.
func (e *env) work(tb testing.TB) <-chan taskkit.ID {
	tb.Helper()
	held := make(chan taskkit.ID, 100)
	w, err := taskkit.NewWorker(tb.Context(), e.db.DB, registryOf(held), taskkit.Config{
		Schema: e.schema(), Heartbeat: time.Second, Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		BatchTimeout: 40 * time.Second, Drain: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
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
	return held
}

// submit submits a task of a person.
func submit[Spec, State, Result any](tb testing.TB, e *env, k *taskkit.Kind[Spec, State, Result], spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	tb.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.OwnedBy(e.people[e.person].ID), taskkit.WithSchema(e.schema())}, opts...)
	id, err := taskkit.Submit(tb.Context(), e.db.DB, k, spec, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// ended waits until a task has ended.
func (e *env) ended(tb testing.TB, id taskkit.ID) *taskkit.Task {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testdb.Patience(tb))
	defer cancel()
	t, err := e.client.Wait(ctx, id, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// until waits until a worker holds the task.
func until(tb testing.TB, held <-chan taskkit.ID, id taskkit.ID) {
	tb.Helper()
	for {
		select {
		case got := <-held:
			if got == id {
				return
			}
		case <-time.After(testdb.Patience(tb)):
			tb.Fatal("no batch begins")
		}
	}
}

// path is the page of a task.
func path(id taskkit.ID) string { return "/tasks/task/" + id.String() }

// wants checks the texts of a page, all of which it must have; one that begins with "no " it must not.
func (a answer) wants(tb testing.TB, wanted ...string) {
	tb.Helper()
	for _, text := range wanted {
		none, without := strings.CutPrefix(text, "no ")
		if without == strings.Contains(a.body, none) {
			tb.Errorf("the page has %q: %t\n%s", none, without, a.body)
		}
	}
}

// seq returns the items of a frozen set.
func seq(items ...string) iter.Seq[string] { return slices.Values(items) }
