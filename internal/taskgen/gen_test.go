package taskgen_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"taskkit.dev/internal/taskgen"
	"taskkit.dev/internal/taskgen/testdata/corpus"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// TestGenIsCurrent: gen/ of this module is what the executors of this module
// ask for, and empty while there are none.
func TestGenIsCurrent(t *testing.T) {
	t.Parallel()
	executors, err := filepath.Glob("../../executors/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(executors) > 0 {
		isCurrent(t, taskgen.Options{Dir: "../../executors", Patterns: []string{"./..."}, Out: "../gen"})
		return
	}
	for _, pattern := range []string{"../../gen/*.go", "../../gen/*/*.go"} {
		left, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Errorf("there are no executors, and yet %v", left)
		}
	}
}

// TestShownIsCurrent: the schemas that are committed for people to read are what
// the generator writes today.
func TestShownIsCurrent(t *testing.T) {
	t.Parallel()
	isCurrent(t, taskgen.Options{Dir: "schema/testdata/shown", Patterns: []string{"."}})
}

// TestExecutorsRegister: the generated struct registers what it holds, and a
// forgotten executor is reported by the name of its kind.
func TestExecutorsRegister(t *testing.T) {
	t.Parallel()
	var all taskkit.Registry
	gen.Executors{EveryThing: corpus.Everything{}, Plain: &corpus.Plain{}, Shapes: &corpus.Shaper{}}.Register(&all)
	if err := all.Err(); err != nil || !slices.Equal(all.Kinds(), gen.Kinds()) {
		t.Fatalf("kinds %v, %v", all.Kinds(), err)
	}
	// An alias is registered with its kind.
	var twice *taskkit.UsageError
	taskkit.Register(&all, taskkit.NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "old"}), nothing{})
	if err := all.Err(); !errors.As(err, &twice) || twice.What != `kind "old"` {
		t.Errorf("got %v, want a *UsageError for old", err)
	}
	var some taskkit.Registry
	gen.Executors{EveryThing: corpus.Everything{}}.Register(&some)
	err := some.Err()
	var missing *taskkit.UsageError
	if !errors.As(err, &missing) || missing.What != `kind "plain"` {
		t.Errorf("got %v, want a *UsageError for plain", err)
	}
}

type nothing struct{}

func (nothing) Execute(context.Context, *taskkit.Batch[struct{}, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// TestNotifyOfAllKinds: the subscriptions of all kinds are in each of them.
func TestNotifyOfAllKinds(t *testing.T) {
	t.Parallel()
	out, err := taskgen.Generate(t.Context(), taskgen.Options{Dir: "../../executors", Patterns: []string{"./..."}, Out: "../gen", Notify: "ops:dead_letter"})
	if err != nil || len(out.Executors) == 0 {
		t.Fatalf("%v, %d executors, %v", err, len(out.Executors), out.Diagnostics)
	}
	kinds := 0
	for _, f := range out.Files {
		if bytes.Contains(f.Data, []byte("taskkit.NewKind(")) {
			kinds++
			if !bytes.Contains(f.Data, []byte(`Notify: `)) || !bytes.Contains(f.Data, []byte(`"ops:dead_letter"`)) {
				t.Errorf("%s notifies nothing", f.Name)
			}
		}
	}
	if kinds != len(out.Executors) {
		t.Errorf("%d files have kinds, want %d", kinds, len(out.Executors))
	}
}
