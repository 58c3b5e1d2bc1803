// Suite runs the tests of all modules, or of some packages, with the servers that withdb has started:
//
//	go run ./internal/cmd/withdb go run ./internal/cmd/suite [-race] [packages] [-- flags of go test]
//
// The race detector makes a package take two to three times as long, and finds little where no goroutine is started.
// Without -race (make test) suite watches the library's packages that start goroutines, and runs the others without the
// detector. With -race (make race) it watches the remaining ones that start goroutines, or all packages that are named.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// everything is the pattern of the packages of all modules in go.work.
const everything = "work"

// killAfter is how long an interrupted go command may take to end.
const killAfter = 10 * time.Second

// notWatched are packages that the race detector does not watch in any program. modernc.org/sqlite and its libc are C
// turned into Go: with the detector SQLite is a hundred times slower. The others are called most and start no goroutine:
// the query builder, functions of strings, fmt, and what reads JSON and SQL token by token. A package that uses sync/atomic
// or sync.Map must not be added: the detector would not see the order that it makes.
var notWatched = []string{
	"modernc.org/...", "entgo.io/ent/dialect/sql/...", "strings", "strconv", "unicode/...", "regexp/...", "fmt",
	"github.com/go-json-experiment/json/jsontext", "github.com/go-json-experiment/json/internal/...",
	"taskkit.dev/internal/store/sqlscan",
}

// raceFlags are the flags of a build with the race detector. Unsafe conversions are checked in our own code alone.
func raceFlags() []string {
	flags := []string{"-race", "-gcflags=all=-d=checkptr=0", "-gcflags=taskkit.dev/...="}
	for _, p := range notWatched {
		flags = append(flags, "-gcflags="+p+"=-d=checkptr=0 -race=false")
	}
	return flags
}

func main() {
	race := flag.Bool("race", false, "watch what is not watched without this flag, or all packages that are named")
	flag.Parse()
	patterns, testFlags := flag.Args(), []string(nil)
	if i := slices.Index(patterns, "--"); i >= 0 {
		patterns, testFlags = patterns[:i], patterns[i+1:]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *race, patterns, testFlags)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

// run tests the packages, those with and those without the detector at once: most tests wait.
func run(ctx context.Context, race bool, patterns, testFlags []string) error {
	whole := len(patterns) == 0 || slices.Equal(patterns, []string{everything})
	if whole {
		patterns = []string{everything}
	}
	all, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	watched, unwatched, err := choose(all, race, whole)
	if err != nil {
		return err
	}
	if whole && !race {
		if err := compile(ctx, watched, unwatched); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	var errs [2]error
	for i, packages := range [][]string{watched, unwatched} {
		if len(packages) == 0 {
			continue
		}
		// go test is not to vet: make vet does, and with the race detector it would compile everything once more.
		args := []string{"test", "-vet=off", "-timeout=65m"}
		if i == 0 {
			// The largest package mostly waits, so there is room for one more than there are processors.
			args = append(append(args, raceFlags()...), fmt.Sprint("-p=", runtime.NumCPU()+1))
		} else {
			// With more at once, the servers answer some tests later than their workers' deadlines.
			args = append(args, fmt.Sprint("-p=", max(1, runtime.NumCPU()/2)))
		}
		wg.Go(func() { errs[i] = goCommand(ctx, nil, slices.Concat(args, testFlags, packages)...) })
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// compile compiles what the tests need. The two runs of go test need the same packages at the same time, and so do tests
// that run the go command in modules to which this one is a dependency, as it is to the proof without a workspace: with an
// empty cache each would compile all for itself. go list -export compiles as go test does, and links nothing.
func compile(ctx context.Context, watched, unwatched []string) error {
	const quiet = "-f={{with .Error}}{{.}}{{end}}"
	return errors.Join(
		goCommand(ctx, nil, slices.Concat([]string{"list", "-export", "-test", quiet}, raceFlags(), watched)...),
		goCommand(ctx, nil, append([]string{"list", "-export", "-test", quiet}, unwatched...)...),
		goCommand(ctx, []string{"GOWORK=off"}, "list", "-C", "internal/proof", "-export", quiet, module+"/cmd/taskgen", module+"/taskkit"),
	)
}

// A listed package is one of the modules in go.work.
type listed struct{ path, dir string }

// list returns the packages of patterns. The pattern for all packages leaves out modules of other paths, which stand for
// a user's and are tested by make modules without the workspace.
func list(ctx context.Context, patterns []string) (all []listed, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f={{.ImportPath}}\t{{.Dir}}"}, patterns...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("list the packages: %w\n%s", err, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		p, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !slices.Contains(patterns, everything) || p == module || strings.HasPrefix(p, module+"/") {
			all = append(all, listed{p, dir})
		}
	}
	return all, nil
}

// goCommand runs the go command. Little memory is in use, so collecting it less often saves time; tests that measure a
// process's memory start it without. A watched process would sleep for a second at its exit, and a test of processes waits
// for many. What the detector remembers of the memory lies in huge pages, where Linux has them: in a virtual machine a
// page's first access is slow, and without them the tests of taskkit take a third more of the processors' time.
func goCommand(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	cmd.Env = slices.Concat(os.Environ(), []string{"GOGC=400", "GORACE=atexit_sleep_ms=0 no_huge_pages_for_shadow=0"}, env)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}
