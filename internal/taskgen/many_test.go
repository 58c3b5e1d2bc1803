package taskgen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manyExecutors writes executors into a module, each in a package with a spec of
// twenty fields. Which is in a comment of each: another one makes the go command
// compile them again.
func manyExecutors(b *testing.B, module string, executors int, which string) {
	b.Helper()
	for i := range executors {
		var src strings.Builder
		fmt.Fprintf(&src, "// Package action%d is number %s.\npackage action%d\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"github.com/google/uuid\"\n\n\t\"taskkit.dev/taskkit\"\n)\n\n", i, which, i)
		src.WriteString("// Spec says what to do.\ntype Spec struct {\n\tPeople []uuid.UUID `json:\"people\" validate:\"required,max=100000\"`\n\tRows []Row `json:\"rows\"`\n")
		for f := range 18 {
			fmt.Fprintf(&src, "\t// Field%d is documented.\n\tField%d string `json:\"field_%d\" validate:\"max=%d\"`\n", f, f, f, f+1)
		}
		src.WriteString("}\n\n// Row is a row.\ntype Row struct {\n\tName string `json:\"name\"`\n\tWhen time.Time `json:\"when\"`\n\tBy map[string]int `json:\"by\"`\n}\n\n" +
			"// State is where it stands.\ntype State struct {\n\tAfter uuid.UUID `json:\"after\"`\n\tDone int `json:\"done\"`\n}\n\n")
		fmt.Fprintf(&src, "//taskkit:executor action_%d batch=500\ntype Executor struct{}\n\n", i)
		src.WriteString("func (*Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) {\n\treturn taskkit.Done, nil\n}\n")
		write(b, filepath.Join(module, "executors", fmt.Sprintf("action%d", i), "action.go"), []byte(src.String()))
	}
}

// BenchmarkGenerate generates for fifty executors, from reading to files in memory.
func BenchmarkGenerate(b *testing.B) {
	const executors = 50
	module := newModule(b, "example.test")
	manyExecutors(b, module, executors, "0")
	// What the executors import is compiled before, as it is in daily work.
	goIn(b, module, "build", "./executors/...")
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

// BenchmarkCommand runs the command in a module of two hundred executors: the first
// time, when only what they import has been compiled, and with -check. It reports the
// processor time of the command and the go command that it runs.
func BenchmarkCommand(b *testing.B) {
	const executors = 200
	taskgen := filepath.Join(b.TempDir(), "taskgen")
	goIn(b, repository, "build", "-o", taskgen, "./cmd/taskgen")
	module := newModule(b, "example.test")
	manyExecutors(b, module, executors, "0")
	goIn(b, module, "build", "./executors/...")
	run := func(b *testing.B, args ...string) time.Duration {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), taskgen, args...)
		cmd.Dir = module
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("taskgen %v: %v\n%s", args, err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.Run("first", func(b *testing.B) {
		var cpu time.Duration
		runs := 0
		for b.Loop() {
			b.StopTimer()
			for _, old := range []string{"gen", "tasks.lock"} {
				if err := os.RemoveAll(filepath.Join(module, old)); err != nil {
					b.Fatal(err)
				}
			}
			runs++
			manyExecutors(b, module, executors, fmt.Sprint(time.Now().UnixNano()))
			b.StartTimer()
			cpu += run(b)
		}
		b.ReportMetric(cpu.Seconds()/float64(runs), "cpu-s/op")
	})
	b.Run("check", func(b *testing.B) {
		run(b)
		var cpu time.Duration
		runs := 0
		for b.Loop() {
			runs++
			cpu += run(b, "-check")
		}
		b.ReportMetric(cpu.Seconds()/float64(runs), "cpu-s/op")
	})
}

// goIn runs the go command in a directory.
func goIn(b *testing.B, dir string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go %v: %v\n%s", args, err, out)
	}
}
