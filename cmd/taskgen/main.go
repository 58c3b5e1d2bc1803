// Taskgen generates the code that binds executors to taskkit.
//
// Usage:
//
//	taskgen [flags] [packages]
//	taskgen init [-module PATH] [DIR]
//
// Taskgen init creates a working module in DIR: an executor, the directive of go
// generate, and a program that runs a bulk action on SQLite. In a checkout of taskkit
// the module uses that checkout.
//
// Without init, taskgen reads the packages, ./executors/... by default, and finds the types with a
// directive in their doc comment and an Execute method:
//
//	//taskkit:executor program_status batch=500 queue=bulk alias=set_status
//	type Executor struct{}
//
//	func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error)
//
// The name is what is stored with every task; it does not follow a rename in
// Go. After it there may be:
//
//	batch=N          number of items in the first batch
//	max=N            upper bound for the number of items in a batch
//	queue=Q          where tasks wait
//	targets=FIELD    the list of the spec that has the items
//	parallel=8       execute so many ranges of the items at once
//	stopafter=5%     pause a task when so many of its items have failed
//	strategy=Name    what becomes of errors, a taskpolicy.Strategy of the package
//	policies=Name    what is done when counters reach marks, taskpolicy.Policies of the package
//	lateststart=30m  fail a task that has not begun so long after its submission
//	timelimit=2h     fail a task that has not ended so long after its first start
//	defer=30m,6h     how long to wait before each further try of deferred items
//	poison=skip      fail an item that keeps killing its worker, and go on with the task
//	touches=T,U      the tables that the batches write, for throttling
//	notify=T:E,U     who is notified of which events of a task
//	preview          the executor can be previewed
//	ledger           store which items succeeded
//	children         the executor submits tasks as children of its own
//	alias=OLD        a former name, whose tasks this executor still runs; repeatable
//	reserved=OLD     a former name that no longer has tasks; repeatable
//	retired          stored tasks are run, but new ones are refused
//
// docs/writing-executors.md#the-directive explains them.
//
// For each kind it writes gen/<name>task, with Kind, Submit, SubmitMany, Get,
// and Fetch for executors with a Report method, the marshalling of Spec, State
// and Result, their JSON Schemas, and a test of specimens. It also writes gen/gen.go with
// Executors, Register and Kinds. Types that several kinds store are marshalled once,
// in a package for each package that declares them: gen/targetsjson. Beside the
// directive of go generate it writes tasks.lock, which remembers every field that a
// database may hold. Commit what it writes.
//
// Every field of a Spec, State or Result is exported and has a json tag. It may
// be a string, boolean, integer or float, a type declared as one of those, an
// enum, a slice, an array, a map with keys that are strings, integers or write
// themselves as text, a pointer, a struct, embedded ones too, time.Time,
// uuid.UUID, json.RawMessage, or a type with methods MarshalJSON and
// UnmarshalJSON, or MarshalText and UnmarshalText. A type may be an alias or an
// instance of a generic one, and may contain itself. Anything else is refused. All
// errors are printed at once, each as
//
//	file:line:col: message: remedy
//
// A change after which a stored task could not be read is refused too, by the name of
// a rule; docs/evolution.md lists the rules. After an error nothing is written.
// Files that are up to date are not touched, and files of kinds that no longer exist
// are removed; files that taskgen did not write are left alone. An executor must not
// import generated code.
//
// The flags are:
//
//	-o, -out DIR  where to write; default gen
//	-pkg NAME     the package that registers all; default the last element of DIR
//	-suffix END   the end of the names of the kinds' packages; default task
//	-lock FILE    the lock file; default tasks.lock in the working directory
//	-base FILE    the lock file to compare with; default the file of -lock. git:main is
//	              the file of -lock as it is in branch main, or any other branch or
//	              commit: a revision is then one change to what the branch has
//	-notify T:E,U who is notified of which events of the tasks of all kinds; notify= in a
//	              directive adds to it, and notify=none is for a kind without notifications
//	-newlock      begin a new lock file although git or generated code shows that
//	              there was one; only when no task is stored anywhere
//	-check        write nothing; print what would change, and exit with 1 if
//	              anything would
//	-v            name the kinds found and the files changed
//
// Packages, DIR and FILE are relative to the working directory. It works from go
// generate in one line:
//
//	//go:generate go run taskkit.dev/cmd/taskgen -o ../gen ./...
//
// Taskgen exits with 0 for success, 1 for an error or stale code, and 2 for wrong
// usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"taskkit.dev/internal/taskgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command. It returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "init" {
		return runInit(ctx, args[1:], stdout, stderr)
	}
	var (
		o       taskgen.Options
		check   bool
		verbose bool
	)
	flags := flag.NewFlagSet("taskgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Out, "o", "gen", "write to `dir`")
	flags.StringVar(&o.Out, "out", "gen", "the same as -o `dir`")
	flags.StringVar(&o.Package, "pkg", "", "`name` of the package that registers all kinds (default the last element of -o)")
	flags.StringVar(&o.Suffix, "suffix", "task", "`suffix` of the names of the kinds' packages")
	flags.StringVar(&o.Lock, "lock", "tasks.lock", "record all stored fields in `file`")
	flags.StringVar(&o.Base, "base", "", "lock `file` to compare with, or git:BRANCH; default that of -lock")
	flags.StringVar(&o.Notify, "notify", "", "`targets` with events that all kinds notify, as notify= of a directive: ops:dead_letter")
	flags.BoolVar(&o.NewLock, "newlock", false, "start a new lock file although there was one")
	flags.BoolVar(&check, "check", false, "write nothing; exit with 1 when something would change")
	flags.BoolVar(&verbose, "v", false, "name the kinds found and the files changed")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: taskgen [flags] [packages], or taskgen init   (see go doc taskkit.dev/cmd/taskgen)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	o.Patterns = flags.Args()
	for _, p := range o.Patterns {
		if strings.HasPrefix(p, "-") {
			fmt.Fprintf(stderr, "taskgen: %s comes after a package: write the flags before the packages\n", p)
			return 2
		}
	}

	out, err := taskgen.Generate(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, "taskgen:", err)
		return 1
	}
	for _, d := range out.Diagnostics {
		fmt.Fprintln(stderr, d)
	}
	if n := len(out.Diagnostics); n > 0 {
		fmt.Fprintf(stderr, "taskgen: nothing was written; errors: %d\n", n)
		advise(stderr, out)
		return 1
	}
	if verbose {
		for _, x := range out.Executors {
			fmt.Fprintf(stderr, "kind %s: %s\n", x.Kind, x.Source)
		}
	}
	changes, err := out.Changes()
	if err != nil {
		fmt.Fprintln(stderr, "taskgen:", err)
		return 1
	}
	if len(changes) > 0 {
		advise(stderr, out)
	}
	if check {
		for _, c := range changes {
			_, _ = stdout.Write(c.Diff())
		}
		if len(changes) > 0 {
			command := "go generate"
			if o.Base != "" {
				command = "taskgen with the same flags, but without -check"
			}
			fmt.Fprintf(stderr, "taskgen: generated code is stale: run %s; files to change: %d\n", command, len(changes))
			return 1
		}
		return 0
	}
	if err := taskgen.Commit(changes); err != nil {
		fmt.Fprintln(stderr, "taskgen:", err)
		return 1
	}
	if verbose {
		for _, c := range changes {
			what := "write"
			if c.New == nil {
				what = "remove"
			}
			fmt.Fprintln(stderr, what, c.Name)
		}
	}
	return 0
}

// advise prints the advice.
func advise(stderr io.Writer, out *taskgen.Output) {
	for _, line := range out.Advice {
		fmt.Fprintln(stderr, "taskgen:", line)
	}
}
