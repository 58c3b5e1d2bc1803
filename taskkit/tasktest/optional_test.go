package tasktest_test

import (
	"context"
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasktest"
)

// optional are executors which have together all optional methods, with their tests.
var optional = map[string]struct {
	executor taskkit.Executor[spec, state]
	kind     *taskkit.Kind[spec, state, int]
	kinds    []tasktest.KindOption
}{
	"limits": {executor: limited{}, kind: kind},
	"targets": {executor: finder{}, kind: taskkit.NewKind(taskkind.Definition[spec, state, int]{
		Name: "greet_found", BatchSize: 2,
		Targets: taskkit.TargetsFoundIn[state]("people", func(s *spec) *[]string { return &s.People }),
	})},
	"segments": {executor: segmented{}, kind: taskkit.NewKind(taskkind.Definition[spec, state, int]{
		Name: "greet_buckets", BatchSize: 2, Segments: true,
	})},
	"checks": {executor: checking{}, kind: taskkit.NewKind(taskkind.Definition[spec, state, int]{
		Name: "greet_checked", BatchSize: 2, Segments: true, CheckBucket: true,
		Targets:    taskkit.TargetsFoundIn[state]("people", func(s *spec) *[]string { return &s.People }),
		CheckItems: taskkit.ItemsCheckedIn[state](func(s *spec) *[]string { return &s.People }),
	})},
	"stages": {executor: staged{}, kind: taskkit.NewKind(taskkind.Definition[spec, state, int]{
		Name: "greet_stages", BatchSize: 2, Stages: true,
	}), kinds: []tasktest.KindOption{tasktest.WithKind(kind, limited{})}},
}

// limited is a greeter that cleans up and has a limit.
type limited struct{ greeter }

// Abort implements [taskkit.Aborter].
func (limited) Abort(context.Context, *taskkit.Batch[spec, state]) error { return nil }

// Limits implements [taskkit.Limiter].
func (limited) Limits(t taskkit.LimitedTask[spec]) map[string]int { return map[string]int{t.Kind: 1} }

// finder finds whom it greets.
type finder struct{ limited }

// Targets implements [taskkit.Targeter].
func (finder) Targets(ctx context.Context, b *taskkit.Batch[spec, state]) ([]string, taskkit.Next, error) {
	people, err := columnOf[string](ctx, b.Tx, "SELECT person FROM invited ORDER BY person")
	return people, taskkit.Done, err
}

// segmented greets in two buckets.
type segmented struct{ limited }

// Segments implements [taskkit.Segmenter].
func (segmented) Segments(context.Context, *taskkit.Batch[spec, state]) (*segment.Plan, error) {
	return segment.Explicit{Segments: []segment.Segment{segment.Below(segment.Text("Kurt")), segment.AtLeast(segment.Text("Kurt")).OrNull()}}.Plan()
}

// Execute implements [taskkit.Executor].
func (segmented) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	where, args, err := b.Segment.SQL("sqlite3", "person", 1)
	if err != nil {
		return taskkit.More, err
	}
	people, err := columnOf[string](ctx, b.Tx, "SELECT person FROM invited WHERE "+where+" ORDER BY person", args...)
	if err != nil {
		return taskkit.More, err
	}
	now := people[b.State.Greeted:min(b.State.Greeted+1, len(people))]
	b.State.Greeted += len(now)
	b.Advance(len(now))
	if b.State.Greeted == len(people) {
		return taskkit.Done, greet(ctx, b, now)
	}
	return taskkit.More, greet(ctx, b, now)
}

// Merge implements [taskkit.Merger].
func (segmented) Merge(total *state, part state) error {
	total.Greeted += part.Greeted
	return nil
}

// checking greets in two buckets, which find whom they greet, and has conditions that all meet.
type checking struct{ limited }

// Segments implements [taskkit.Segmenter].
func (checking) Segments(ctx context.Context, b *taskkit.Batch[spec, state]) (*segment.Plan, error) {
	return segmented{}.Segments(ctx, b)
}

// Targets implements [taskkit.Targeter].
func (checking) Targets(ctx context.Context, b *taskkit.Batch[spec, state]) ([]string, taskkit.Next, error) {
	where, args, err := b.Segment.SQL("sqlite3", "person", 1)
	if err != nil {
		return nil, taskkit.More, err
	}
	people, err := columnOf[string](ctx, b.Tx, "SELECT person FROM invited WHERE "+where+" ORDER BY person", args...)
	return people, taskkit.Done, err
}

// CheckBucket implements [taskkit.BucketChecker].
func (checking) CheckBucket(context.Context, *taskkit.Batch[spec, state]) (taskkit.Processing, error) {
	return taskkit.Process, nil
}

// CheckItems implements [taskkit.ItemChecker].
func (checking) CheckItems(_ context.Context, _ *taskkit.Batch[spec, state], people []string) ([]taskkit.Processing, error) {
	return make([]taskkit.Processing, len(people)), nil
}

// Merge implements [taskkit.Merger].
func (checking) Merge(total *state, part state) error {
	total.Greeted += part.Greeted
	return nil
}

// staged greets in two stages, one of which is in a queue of its own.
type staged struct{ limited }

// Stages implements [taskkit.Stager].
func (staged) Stages(_ context.Context, b *taskkit.Batch[spec, state]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{
		taskkit.NewStage("first", kind, spec{People: b.Spec.People[:3]}),
		taskkit.NewStage("rest", kind, spec{People: b.Spec.People[3:]}, taskkit.WithQueue("slow")),
	}, nil
}

// Execute implements [taskkit.Executor].
func (staged) Execute(context.Context, *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// An executor may have each optional method under each fault.
func TestOptionalMethodsUnderFaults(t *testing.T) {
	t.Parallel()
	people := []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}
	for name, o := range optional {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tasktest.Case[spec, state, int]{
				Kind: o.kind, Snapshot: snapshot, Spec: spec{People: people},
				New:   func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return o.executor },
				Kinds: func(testing.TB, *sql.DB) []tasktest.KindOption { return o.kinds },
				Setup: func(ctx context.Context, db *sql.DB) error {
					if err := setup(ctx, db); err != nil {
						return err
					}
					_, err := db.ExecContext(ctx, "CREATE TABLE invited AS SELECT value AS person FROM json_each('[\""+strings.Join(people, `","`)+"\"]')")
					return err
				},
			}
			if name == "targets" || name == "checks" {
				c.Spec = spec{}
			}
			tasktest.TestExecutor(t, c)
		})
	}
}

// Each interface of package taskkit with type parameters is one of executors, and one of the executors above
// has its methods: a new interface is tested under faults too.
func TestEveryOptionalMethodIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			typ, ok := n.(*ast.TypeSpec)
			if !ok || typ.TypeParams == nil || !typ.Name.IsExported() {
				return true
			}
			if methods, ok := typ.Type.(*ast.InterfaceType); ok {
				found++
				if !hasMethods(methods) {
					t.Errorf("no executor of this test is a taskkit.%s: add one to the variable optional", typ.Name)
				}
			}
			return true
		})
	}
	if found < 8 {
		t.Errorf("found %d interfaces, want at least 8", found)
	}
}

// hasMethods reports whether one of the executors has these methods.
func hasMethods(methods *ast.InterfaceType) bool {
	for _, o := range optional {
		all := true
		for _, m := range methods.Methods.List {
			_, ok := reflect.TypeOf(o.executor).MethodByName(m.Names[0].Name)
			all = all && ok
		}
		if all {
			return true
		}
	}
	return false
}
