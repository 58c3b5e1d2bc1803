package telemetry_test

import (
	"context"
	"math/big"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

type (
	splitSpec  struct{}
	splitState struct{ Submitted bool }
	splitBatch = taskkit.Batch[splitSpec, splitState]
	splitKind  = taskkit.Kind[splitSpec, splitState, struct{}]
)

// inBuckets executes a task in two buckets.
type inBuckets struct{}

func (inBuckets) Segments(context.Context, *splitBatch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(10), Count: 2}.Plan()
}

func (inBuckets) Execute(context.Context, *splitBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// inStages executes a task in two stages, one after another.
type inStages struct{}

func (inStages) Stages(context.Context, *splitBatch) ([]taskkit.Stage, error) {
	stage := func(name string) taskkit.Stage {
		return taskkit.NewStage(name, kindNamed("part"), workSpec{Numbers: []int{1}})
	}
	return []taskkit.Stage{stage("a"), stage("b").After("a")}, nil
}

func (inStages) Execute(context.Context, *splitBatch) (taskkit.Next, error) { return taskkit.Done, nil }

// inChildren executes a task in two children.
type inChildren struct{}

func (inChildren) Execute(ctx context.Context, b *splitBatch) (taskkit.Next, error) {
	if b.State.Submitted {
		return taskkit.Done, nil
	}
	b.State.Submitted = true
	for range 2 {
		if _, err := taskkit.Submit(ctx, b.Tx, kindNamed("part"), workSpec{Numbers: []int{1}}, taskkit.WithParent(b.Task)); err != nil {
			return taskkit.More, err
		}
	}
	return taskkit.AwaitChildren(0, taskkit.FailParent), nil
}

// The work on the parts of a task is linked to the submission of the task, and to the slice that has made the part. Parts of a task whose submission
// is not sampled have nothing in their rows.
func TestTraceOfParts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, ranges := newEnv(t, db), kindNamed("ranges")
		tr, never := e.trace(sdktrace.AlwaysSample()), e.trace(sdktrace.NeverSample())
		var r taskkit.Registry
		taskkit.Register(&r, ranges, newWork())
		taskkit.Register(&r, kindNamed("part"), newWork())
		split := func(name string, x taskkit.Executor[splitSpec, splitState], d taskkind.Definition[splitSpec, splitState, struct{}]) *splitKind {
			d.Name = name
			k := taskkit.NewKind(d)
			taskkit.Register(&r, k, x)
			return k
		}
		kinds := map[string]*splitKind{
			"buckets":  split("buckets", inBuckets{}, taskkind.Definition[splitSpec, splitState, struct{}]{Segments: true}),
			"stages":   split("stages", inStages{}, taskkind.Definition[splitSpec, splitState, struct{}]{Stages: true}),
			"children": split("children", inChildren{}, taskkind.Definition[splitSpec, splitState, struct{}]{Children: true}),
		}
		submit := func(name string, o taskkit.SubmitObserver) taskkit.ID {
			if name == "ranges" {
				return e.submit(ranges, workSpec{Numbers: []int{1, 2, 3, 4}}, taskkit.WithMaxParallel(2), taskkit.WithObserver(o))
			}
			id, err := taskkit.Submit(t.Context(), db.DB, kinds[name], splitSpec{}, taskkit.System(), taskkit.WithSchema(e.schema), taskkit.WithObserver(o))
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		e.start(&r, taskkit.Config{Observer: tr})
		for _, name := range []string{"ranges", "buckets", "stages", "children"} {
			plain := e.ended(submit(name, never))
			id := submit(name, tr)
			if task := e.ended(id); task.Status != taskkit.StatusCompleted || plain.Status != taskkit.StatusCompleted {
				t.Fatalf("%s: %s and %s", name, task.Status, plain.Status)
			}
			for _, c := range e.children(plain.ID) {
				if c.Traceparent != "" {
					t.Errorf("%s: a part of a task without a trace has %q", name, c.Traceparent)
				}
			}
			parts := e.children(id)
			if len(parts) != 2 {
				t.Fatalf("%s: %d parts", name, len(parts))
			}
			submitted := tr.await("submit "+name, 1)[0].SpanContext.SpanID()
			for _, c := range parts {
				e.until(name+": a part is linked to the submission, and to a slice of its task", func() bool {
					for _, s := range slices.Concat(tr.spans("run "+name), tr.spans("run part")) {
						if attributeOf(s, "taskkit.task") == c.ID.String() {
							checkRoot(t, s)
							return len(s.Links) == 2 && s.Links[0].SpanContext.SpanID() == submitted && tr.isSliceOf(id, "run "+name, s.Links[1].SpanContext)
						}
					}
					return false
				})
			}
		}
	})
}

// isSliceOf reports whether a span is a slice of a task.
func (t traced) isSliceOf(id taskkit.ID, name string, c trace.SpanContext) bool {
	return slices.ContainsFunc(t.spans(name), func(s tracetest.SpanStub) bool {
		return s.SpanContext.SpanID() == c.SpanID() && attributeOf(s, "taskkit.task") == id.String()
	})
}

// children returns the children of a task.
func (e *env) children(id taskkit.ID) []*taskkit.Task {
	e.Helper()
	tasks, _, err := e.client.Tasks(e.Context(), taskkit.Filter{Parent: id})
	if err != nil {
		e.Fatal(err)
	}
	return tasks
}
