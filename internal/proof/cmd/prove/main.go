// Prove runs the long forms of the tests one after another, each for its share
// of the time, and prints what they have counted:
//
//	go run ./internal/proof/cmd/prove -t 20m -out .tmp/proof
//
// The counts are in NAME.json in the directory, what the tests have said in
// STEP.log. The exit status is 1 when a test has failed or a violation was
// counted. `make prove` runs it with the servers that the tests need.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/prove/plan"
)

func main() {
	whole := flag.Duration("t", 20*time.Minute, "how long all steps together are to take, about")
	out := flag.String("out", ".tmp/proof", "directory for the counts; what it holds of earlier ones is removed")
	only := flag.String("only", "", "steps to run, of a comma-separated list; all without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	wrong, err := run(ctx, os.Stdout, *whole, *out, *only)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	case wrong:
		os.Exit(1)
	}
}

// outcome is what became of a step.
type outcome struct {
	plan.Step
	took time.Duration
	err  error
}

// run runs the steps and reports whether anything was wrong.
func run(ctx context.Context, to io.Writer, whole time.Duration, out, only string) (wrong bool, err error) {
	dir, err := filepath.Abs(out)
	if err != nil {
		return false, err
	}
	steps, err := chosen(only)
	if err != nil {
		return false, err
	}
	if err := empty(dir, steps); err != nil {
		return false, fmt.Errorf("make room for the counts in %s: %w", dir, err)
	}
	var done []outcome
	for _, s := range steps {
		budget := s.Budget(whole)
		if budget < s.Least {
			fmt.Fprintf(to, "%-12s left out: it takes %v, and its share is %v\n", s.Name, s.Least, budget)
			continue
		}
		fmt.Fprintf(to, "%-12s %v: %s\n", s.Name, budget, s.Proves)
		began := time.Now()
		err := step(ctx, s, budget, dir)
		done = append(done, outcome{s, time.Since(began), err})
		if ctx.Err() != nil {
			return true, errors.New("interrupted")
		}
		if err != nil {
			fmt.Fprintf(to, "%-12s FAILED, see %s\n%s", "", logFile(dir, s), failures(logFile(dir, s)))
		}
	}
	counts, err := prove.Read(dir)
	if err != nil {
		return false, err
	}
	return summary(to, done, counts), nil
}

// chosen returns the steps of a list of names.
func chosen(only string) ([]plan.Step, error) {
	all := plan.Steps()
	if only == "" {
		return all, nil
	}
	var some []plan.Step
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s plan.Step) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no step %q in the plan", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// empty makes the directory, and removes the counts of these steps from it.
func empty(dir string, steps []plan.Step) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, s := range steps {
		for _, name := range s.Records {
			if err := os.Remove(filepath.Join(dir, name+".json")); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func logFile(dir string, s plan.Step) string { return filepath.Join(dir, s.Name+".log") }

// step runs the tests of a step. Its deadline is generous: a step that searches
// everything takes as long as it takes, and what is under way at the end of a
// budget ends well.
func step(ctx context.Context, s plan.Step, budget time.Duration, dir string) error {
	log, err := os.Create(logFile(dir, s))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout="+(2*budget+15*time.Minute).String(), "-run="+s.Run, "taskkit.dev/internal/proof/"+s.Package)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), prove.BudgetEnv+"="+budget.String(), prove.OutEnv+"="+dir)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Run()
}

var failed = regexp.MustCompile(`(?m)^\s*(--- FAIL|FAIL|panic:|\S+\.go:\d+:).*$`)

// failures are the last lines of a log that tell of a failure.
func failures(file string) string {
	const most = 20
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error() + "\n"
	}
	lines := failed.FindAllString(string(text), -1)
	return strings.Join(lines[max(len(lines)-most, 0):], "\n") + "\n"
}

// summary prints a table and the number of violations, and reports whether
// anything was wrong.
func summary(to io.Writer, done []outcome, counts map[string]prove.Counts) (wrong bool) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nstep\ttime\tresult\tcounted")
	violations := 0.0
	for _, o := range done {
		result := "ok"
		if o.err != nil {
			result, wrong = "FAILED", true
		}
		for i, name := range o.Records {
			c, ok := counts[name]
			if v, is := c.Counts["violations"].(float64); is {
				violations += v
			}
			said := c.Line()
			if !ok {
				said, wrong = "nothing was recorded as "+name, true
			}
			if i == 0 {
				fmt.Fprintf(w, "%s\t%v\t%s\t%s\n", o.Name, o.took.Round(time.Second), result, said)
			} else {
				fmt.Fprintf(w, "\t\t\t%s\n", said)
			}
		}
	}
	_ = w.Flush()
	fmt.Fprintf(to, "\n%.0f violations\n", violations)
	return wrong || violations > 0
}
