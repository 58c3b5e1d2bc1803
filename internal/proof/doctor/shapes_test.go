package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// shapeSpec says what the executors of shapes do: fail for good, or hold their batches.
type shapeSpec struct {
	Numbers []int `json:"numbers"`
	Fails   bool  `json:"fails"`
}

var (
	listKind = taskkit.NewKind(taskkind.Definition[shapeSpec, none, struct{}]{
		Name: "list", BatchSize: 1, Preview: true, Targets: taskkind.TargetsIn("numbers", func(s *shapeSpec) *[]int { return &s.Numbers }),
	})
	boxesKind  = taskkit.NewKind(taskkind.Definition[shapeSpec, none, struct{}]{Name: "boxes", Segments: true})
	stagesKind = taskkit.NewKind(taskkind.Definition[shapeSpec, none, struct{}]{Name: "stages", Stages: true})
)

type shaper struct{}

func (shaper) Execute(ctx context.Context, b *taskkit.Batch[shapeSpec, none]) (taskkit.Next, error) {
	_, next := taskkit.Take(b, b.Spec.Numbers)
	if b.Spec.Fails {
		return next, taskkit.Permanent("no_paper", errors.New("the printer has no paper"))
	}
	<-ctx.Done()
	return next, ctx.Err()
}

type boxer struct{ shaper }

func (boxer) Segments(context.Context, *taskkit.Batch[shapeSpec, none]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(20), Count: 2}.Plan()
}

type stager struct{ shaper }

func (stager) Stages(_ context.Context, b *taskkit.Batch[shapeSpec, none]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("list", listKind, b.Spec), taskkit.NewStage("boxes", boxesKind, b.Spec)}, nil
}

// shapes are the shapes of a task, and how one is submitted.
var shapes = map[string]func(b *env, spec shapeSpec) taskkit.ID{
	"plain":   func(b *env, spec shapeSpec) taskkit.ID { return submitShape(b, listKind, spec) },
	"preview": func(b *env, spec shapeSpec) taskkit.ID { return submitShape(b, listKind, spec, taskkit.WithPreview()) },
	"ranges": func(b *env, spec shapeSpec) taskkit.ID {
		return submitShape(b, listKind, spec, taskkit.WithMaxParallel(2))
	},
	"buckets": func(b *env, spec shapeSpec) taskkit.ID { return submitShape(b, boxesKind, spec) },
	"stages":  func(b *env, spec shapeSpec) taskkit.ID { return submitShape(b, stagesKind, spec) },
	"frozen set": func(b *env, spec shapeSpec) taskkit.ID {
		numbers := spec.Numbers
		spec.Numbers = nil
		return submitShape(b, listKind, spec, taskkit.WithTargets(slices.Values(numbers)))
	},
}

func submitShape(b *env, k *taskkit.Kind[shapeSpec, none, struct{}], spec shapeSpec, opts ...taskkit.SubmitOption) taskkit.ID {
	b.Helper()
	id, err := taskkit.Submit(b.Context(), b.DB, k, spec, append([]taskkit.SubmitOption{taskkit.OwnedBy(person), taskkit.WithSchema(b.schema), taskkit.WithQueue("mail")}, opts...)...)
	b.must(err)
	return id
}

// work runs a worker for the shapes until the function that it returns is called.
func (b *env) work() (end func()) {
	b.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, listKind, shaper{})
	taskkit.Register(&r, boxesKind, boxer{})
	taskkit.Register(&r, stagesKind, stager{})
	w, err := taskkit.NewWorker(b.Context(), b.DB.DB, &r, taskkit.Config{
		Schema: b.schema, Queues: []string{"mail"}, Slots: 4, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond, Drain: 5 * time.Second,
		BatchTimeout: 40 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		b.Helper()
		cancel()
		b.must(<-done)
	}
}

// until polls until something holds.
func (b *env) until(what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(testdb.Patience(b)); !ok(); {
		if time.Now().After(end) {
			b.Fatal(what + ": it does not come to it")
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-b.Context().Done():
		}
	}
}

// A task of each shape is found when no worker takes it, or a part of it, and when it has failed.
func TestShapes(t *testing.T) {
	t.Parallel()
	for name, submit := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				b := newEnv(t, db)
				spec := shapeSpec{Numbers: []int{1, 2, 3, 4}}
				id := submit(b, spec)
				end := b.work()
				b.until("a worker has begun the task or a part of it", func() bool {
					flying, err := b.store.InFlight(t.Context())
					b.must(err)
					counts, _, err := b.client.Counts(t.Context(), "")
					b.must(err)
					return len(flying) > 0 && counts[taskkit.StatusExecuting] > 0 && (name != "ranges" && name != "buckets" && name != "stages" || b.task(id).Status == taskkit.StatusQueued)
				})
				end()
				p := plant{id: "no_worker"}
				f := p.until(b, true)
				if !slices.ContainsFunc(f.Affected, func(text string) bool { return b.within(uuid.MustParse(text), id) }) {
					t.Errorf("affected are %v, and neither %s nor a part of it", f.Affected, id)
				}

				spec.Fails = true
				failed := submit(b, spec)
				end = b.work()
				b.until("the task has failed", func() bool { return b.task(failed).Ended() })
				end()
				p = plant{id: "dead_letters", about: failed.String()}
				p.until(b, true)
			})
		})
	}
}

// task reads a task.
func (b *env) task(id taskkit.ID) *taskkit.Task {
	b.Helper()
	t, err := b.client.Task(b.Context(), id)
	b.must(err)
	return t
}

// within reports whether a task is another one or a part of it.
func (b *env) within(id, of taskkit.ID) bool {
	for id != of {
		if id = b.task(id).Parent; id == uuid.Nil {
			return false
		}
	}
	return true
}
