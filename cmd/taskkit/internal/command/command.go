// Package command is the command line of taskkit. It turns arguments into calls of
// a [taskkit.Client], and their results into text.
//
// Results go to standard output, everything else to standard error. An error is
// one sentence. Tables are for people and -o json is for programs; both contain
// the same data.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/dev"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// app is one run of the command.
type app struct {
	out, err screen.Screen

	url    string // -d
	schema string // --schema
	output string // -o
}

// Main runs the command and returns its exit status.
func Main(args []string, stdout, stderr *os.File) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// After the first signal the next ends the program at once.
	context.AfterFunc(ctx, stop)

	a := &app{out: screen.New(stdout), err: screen.New(stderr)}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	text := sentence(err)
	if code == exitInterrupted && errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	if text != "" {
		fmt.Fprintln(stderr, a.err.Red("taskkit:"), text)
	}
	return code
}

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "taskkit",
		Short: "Inspect and control tasks",
		Long: `Inspect and control tasks.

TASK is the full id of a task, its last 4 or more characters, or @last for the
newest task that is no child. Name the database with -d or DATABASE_URL.

Exit status: 0 success, 1 error, 2 wrong usage, 3 the task failed, 4 the task was
stopped or deleted, 5 timeout, 130 interrupted. The command doctor has statuses of its own.`,
		Example: `  taskkit dev --exit                     run the demonstration
  taskkit ls -d postgres://me@db/app     list tasks
  taskkit explain @last                  explain why the newest task is not running`,
		Version:       taskkit.Version,
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			formats := outputs
			if c.Name() == itemsName || c.Name() == bucketsName {
				formats = listOutputs
			}
			if !slices.Contains(formats, a.output) {
				return usage("-o accepts %s, not %q", strings.Join(formats, " or "), a.output)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s: see `%s --help`", flagProblem(err), c.CommandPath())
	})
	root.SetVersionTemplate("taskkit {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.url, "database-url", "d", "", "a postgres:// `URL` or the path of an SQLite file (default $DATABASE_URL)")
	flags.StringVar(&a.schema, "schema", "", "PostgreSQL schema of taskkit's tables (default "+taskkit.DefaultSchema+")")
	flags.StringVarP(&a.output, "output", "o", "table", "output `format`: table or json")
	root.AddCommand(
		a.devCommand(), a.migrateCommand(),
		a.lsCommand(), a.showCommand(), a.itemsCommand(), a.bucketsCommand(), a.watchCommand(), a.explainCommand(), a.workersCommand(), a.limitsCommand(), a.queuesCommand(), a.changesCommand(), a.deadCommand(),
		a.stopCommand(), a.pauseCommand(), a.resumeCommand(), a.approveCommand(), a.setCommand(), a.retryCommand(), a.retryItemsCommand(),
		a.continueCommand(), a.applyCommand(), a.rmCommand(), a.pruneEventsCommand(), a.schedulesCommand(), a.doctorCommand(), a.serveCommand(), a.intakeCommand(),
		&cobra.Command{
			Use: dev.WorkerCommand, Hidden: true, Short: "Run as a worker of taskkit dev", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error { return dev.Worker(c.Context(), os.Stdin, os.Stdout) },
		},
	)
	return root
}

// outputs are the formats that every command writes.
var outputs = []string{"table", "json"}

// The exit statuses.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2
	exitFailed  = 3
	exitStopped = 4
	exitTimeout = 5
	// exitInterrupted is the status that shells report for a program ended by
	// Ctrl-C. A script must not take it for success.
	exitInterrupted = 130
)

// usageError reports wrong arguments.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// noArgs rejects arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return usage("unknown command %q: see `%s --help`", args[0], c.CommandPath())
	}
	return usage("%s takes no arguments, but got %q: see `%s --help`", c.CommandPath(), args[0], c.CommandPath())
}

// taskArgs accepts between one and most tasks.
func taskArgs(most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("no task given: see `%s --help`", c.CommandPath())
		}
		if len(args) > most {
			return usage("%s takes one task, not %d: see `%s --help`", c.CommandPath(), len(args), c.CommandPath())
		}
		for _, text := range args {
			if err := checkID(text); err != nil {
				return err
			}
		}
		return nil
	}
}

// statusError ends the command with a status that describes the task rather than
// a failure of the command.
type statusError struct {
	code int
	text string // for standard error; may be empty
}

func (e *statusError) Error() string { return e.text }

// exitCode returns the exit status for an error.
func exitCode(ctx context.Context, err error) int {
	var (
		o       *statusError
		u       *usageError
		option  *taskkit.OptionError
		planned *taskops.ScheduleError
	)
	switch {
	case errors.As(err, &o):
		return o.code
	case errors.As(err, &u), errors.As(err, &option), errors.As(err, &planned):
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitError
	}
}

// sentence returns the text of an error without the prefix of package taskkit:
// the command prints its own name, which is the same. An option has the name of its flag.
func sentence(err error) string {
	text := strings.TrimPrefix(err.Error(), "taskkit: ")
	if _, ok := errors.AsType[*taskkit.OptionError](err); ok {
		text = withFlags(text)
	}
	if refused, ok := errors.AsType[*taskops.ScheduleError](err); ok {
		text = strings.Replace(text, refused.Field+" of schedule", scheduleNames[refused.Field]+" of schedule", 1)
	}
	return screen.Text(text)
}

// print writes a result, as a table or as JSON.
func (a *app) print(asJSON any, table func(w io.Writer)) error {
	if a.output == "json" {
		return screen.JSON(a.out, asJSON)
	}
	table(a.out)
	return nil
}
