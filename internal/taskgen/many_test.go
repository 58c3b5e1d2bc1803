package taskgen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkGenerate generates for fifty executors in a module of their own, each
// in a package with a spec of twenty fields, from reading to files in memory.
func BenchmarkGenerate(b *testing.B) {
	const executors = 50
	module := newModule(b, "example.test")
	for i := range executors {
		src := fmt.Sprintf("package action%d\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"github.com/google/uuid\"\n\n\t\"taskkit.dev/taskkit\"\n)\n\n", i)
		src += "// Spec says what to do.\ntype Spec struct {\n\tPeople []uuid.UUID `json:\"people\" validate:\"required,max=100000\"`\n\tRows []Row `json:\"rows\"`\n"
		for f := range 18 {
			src += fmt.Sprintf("\t// Field%d is documented.\n\tField%d string `json:\"field_%d\" validate:\"max=%d\"`\n", f, f, f, f+1)
		}
		src += "}\n\n// Row is a row.\ntype Row struct {\n\tName string `json:\"name\"`\n\tWhen time.Time `json:\"when\"`\n\tBy map[string]int `json:\"by\"`\n}\n\n" +
			"// State is where it stands.\ntype State struct {\n\tAfter uuid.UUID `json:\"after\"`\n\tDone int `json:\"done\"`\n}\n\n" +
			fmt.Sprintf("//taskkit:executor action_%d batch=500\ntype Executor struct{}\n\n", i) +
			"func (*Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) {\n\treturn taskkit.Done, nil\n}\n"
		write(b, filepath.Join(module, "executors", fmt.Sprintf("action%d", i), "action.go"), []byte(src))
	}
	// What the executors import is compiled before, as it is in daily work.
	warm := exec.CommandContext(b.Context(), "go", "build", "./executors/...")
	warm.Dir = module
	if out, err := warm.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		out, err := Generate(b.Context(), Options{Dir: module})
		if err != nil || len(out.Diagnostics) > 0 || len(out.Executors) != executors {
			b.Fatal(err, out)
		}
	}
	b.StopTimer()
	if _, err := os.Stat(filepath.Join(module, "gen")); err == nil {
		b.Fatal("generating wrote something")
	}
}
