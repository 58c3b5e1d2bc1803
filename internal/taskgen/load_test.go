package taskgen

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// packageOf returns the source of a package with an executor of a kind.
func packageOf(kind, imports, decls string) []byte {
	return []byte("// Package " + kind + " has an executor.\npackage " + kind + "\n\nimport (\n\t\"context\"\n\n\t\"taskkit.dev/taskkit\"\n" + imports + ")\n\n" +
		"// State is where it stands.\ntype State struct {\n\tAt int `json:\"at\"`\n}\n\n" + decls + "\n\n" +
		"//taskkit:executor " + kind + "\ntype Executor struct{}\n\n// Execute does nothing.\n" +
		"func (Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) { return taskkit.Done, nil }\n")
}

// TestTypesThroughAnotherPackage: a package that was not asked for, and imports one that was,
// is read from source too. Its compiled form has other types of the same names.
func TestTypesThroughAnotherPackage(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	write(t, filepath.Join(module, "executors/first/first.go"), packageOf("first", "",
		"// Spec says what to do.\ntype Spec struct {\n\tName string `json:\"name\"`\n}"))
	write(t, filepath.Join(module, "shared/shared.go"), []byte("// Package shared checks specs.\npackage shared\n\n"+
		"import \"example.test/executors/first\"\n\n// Check checks one.\nfunc Check(s first.Spec) first.Spec { return s }\n"))
	write(t, filepath.Join(module, "executors/second/second.go"), packageOf("second",
		"\t\"example.test/executors/first\"\n\t\"example.test/shared\"\n",
		"// Spec says what to do.\ntype Spec struct {\n\tFirst first.Spec `json:\"first\"`\n}\n\nvar _ first.Spec = shared.Check(first.Spec{})"))
	out, err := Generate(t.Context(), Options{Dir: module})
	if err != nil || len(out.Diagnostics) > 0 || len(out.Executors) != 2 {
		t.Fatal(err, out)
	}
}

// TestLoadIsGivenUp: taskgen ends when it is told to.
func TestLoadIsGivenUp(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := Generate(ctx, Options{Dir: module}); err == nil {
		t.Error("generated after the deadline")
	}
}
