package taskgen_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"taskkit.dev/internal/taskgen"
	"taskkit.dev/internal/taskgen/testdata/corpus"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen"
	"taskkit.dev/taskkit"
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
		isCurrent(t, taskgen.Options{Dir: "../..", Patterns: []string{"./executors/..."}})
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

// TestExecutorsRegister: the generated struct registers what it holds, and a
// forgotten executor is reported by the name of its kind.
func TestExecutorsRegister(t *testing.T) {
	t.Parallel()
	var all taskkit.Registry
	gen.Executors{EveryThing: corpus.Everything{}, Plain: &corpus.Plain{}, Shapes: &corpus.Shaper{}}.Register(&all)
	kinds, err := all.Engine()
	if err != nil || !slices.Equal(all.Kinds(), gen.Kinds()) {
		t.Fatalf("kinds %v, %v", all.Kinds(), err)
	}
	if kinds["old"] == nil || kinds["old"] != kinds["every_thing"] {
		t.Error("an alias is not the kind")
	}
	var some taskkit.Registry
	gen.Executors{EveryThing: corpus.Everything{}}.Register(&some)
	_, err = some.Engine()
	var missing *taskkit.MissingExecutorError
	if !errors.As(err, &missing) || missing.Kind != "plain" {
		t.Errorf("got %v, want a *MissingExecutorError for plain", err)
	}
}
