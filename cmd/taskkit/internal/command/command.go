// Package command is the command line of taskkit. It turns arguments into calls of
// a [taskkit.Client], and their results into text.
//
// Results go to standard output, everything else to standard error. An error is
// one sentence. Tables are for people and -o json is for programs; both contain
// the same data.
package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Config configures the commands. The program taskkit has the zero Config.
type Config struct {
	// Name is how the commands are reached, such as "campus tasks", in help and errors. Its last word is the name of the
	// command. Defaults to taskkit. A command that is added to another one has the name of that before its own.
	Name string
	// DB is the database. Nil: the flag -d names it.
	DB *sql.DB
	// Schema is the PostgreSQL schema of taskkit's tables. Defaults to [taskkit.DefaultSchema]. The flag --schema
	// names another one if DB is nil.
	Schema string
	// Registry has the kinds of the program: run needs it, unless it starts tasks of an application over HTTP. May be nil.
	Registry *taskkit.Registry
}

// App is one tree of commands. Only one of them may run at a time.
type App struct {
	Config

	root     *cobra.Command
	out, err screen.Screen

	url    string // -d
	schema string // --schema
	output string // -o
}

// New builds the tree of commands. [App.Complete] must follow.
func New(config Config) *App {
	a := &App{Config: config, schema: config.Schema}
	a.root = &cobra.Command{
		Use:   "taskkit",
		Short: "Inspect and control tasks",
		Long: `Inspect and control tasks.

TASK is the full id of a task, its last 4 or more characters, or @last for the
newest task that is no child. ` + a.whichDatabase() + `

Exit status: 0 success, 1 error, or a request on one of several tasks is refused, 2 wrong
usage, 3 the task failed, 4 the task was stopped or deleted, 5 timeout, 130 interrupted.
The command doctor has statuses of its own.`,
		Example: `  taskkit ls                list tasks
  taskkit explain @last     explain why the newest task is not running
  taskkit doctor            find what is wrong`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	if a.Name != "" {
		words := strings.Fields(a.Name)
		a.root.Use = words[len(words)-1]
		a.root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: a.Name}
	}
	flags := a.root.PersistentFlags()
	if a.DB == nil {
		flags.StringVarP(&a.url, "database-url", "d", "", "a postgres:// `URL` or the path of an SQLite file (default $DATABASE_URL)")
		flags.StringVar(&a.schema, "schema", config.Schema, "PostgreSQL schema of taskkit's tables (default "+taskkit.DefaultSchema+")")
	}
	flags.StringVarP(&a.output, "output", "o", tableFormat, "output `format`: table, json and, of some commands, ndjson, csv or name")
	_ = a.root.RegisterFlagCompletionFunc("output", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return formats(c), cobra.ShellCompDirectiveNoFileComp
	})
	a.root.AddCommand(
		a.migrateCommand(),
		a.runCommand(), a.kindsCommand(), a.lsCommand(), a.showCommand(), a.itemsCommand(), a.bucketsCommand(), a.watchCommand(), a.explainCommand(), a.workersCommand(), a.limitsCommand(), a.queuesCommand(), a.changesCommand(), a.deadCommand(),
		a.stopCommand(), a.pauseCommand(), a.resumeCommand(), a.approveCommand(), a.setCommand(), a.retryCommand(), a.retryItemsCommand(),
		a.continueCommand(), a.applyCommand(), a.rmCommand(), a.rateCommand(), a.resultCommand(), a.versionCommand(), a.schemaCommand(), a.pruneEventsCommand(), a.schedulesCommand(), a.doctorCommand(), a.intakeCommand(),
	)
	return a
}

func (a *App) whichDatabase() string {
	if a.DB != nil {
		return "The tasks are in the database of the program."
	}
	return "Name the database with -d or DATABASE_URL."
}

// Root returns the command that has all others.
func (a *App) Root() *cobra.Command { return a.root }

// Complete ends the construction: each command of the tree reads signals while it runs, writes to the output of the root,
// and returns an *[Error]. In help and errors the commands have the names under which they are reached.
func (a *App) Complete() *cobra.Command {
	a.root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text := flagProblem(err)
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedName() == "where" && strings.Contains(c.Use, "TASK") {
			text = c.CommandPath() + " takes no --where: name each task by its id"
		}
		return a.report(c, usage("%s: see `%s --help`", text, c.CommandPath()))
	})
	help := a.root.HelpFunc()
	a.root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long, c.Example = a.named(c.Long), a.named(c.Example)
		help(c, args)
	})
	var complete func(*cobra.Command)
	complete = func(c *cobra.Command) {
		c.SilenceUsage = true
		a.completions(c)
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error { return a.report(c, check(c, args)) }
		}
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error { return a.report(c, a.run(c, args, run)) }
		}
		for _, sub := range c.Commands() {
			complete(sub)
		}
	}
	complete(a.root)
	return a.root
}

// run runs a command until it ends or the program gets a signal. After the first signal the next ends the program at once.
func (a *App) run(c *cobra.Command, args []string, run func(*cobra.Command, []string) error) error {
	a.out, a.err = screen.New(c.OutOrStdout()), screen.New(c.ErrOrStderr())
	if err := a.checkOutput(c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	c.SetContext(ctx)
	err := run(c, args)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		if _, ok := errors.AsType[*statusError](err); !ok {
			err = &statusError{exitInterrupted, "interrupted"}
		}
	}
	return err
}

// report makes an *[Error] of what a command has returned.
func (a *App) report(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	text := a.named(sentence(err))
	c.SilenceErrors = text == "" || a.root.SilenceErrors
	return &Error{Status: exitCode(err), text: text, err: err}
}

// Error is the error of every command.
type Error struct {
	// Status is the exit status of a program that ends with the error.
	Status int

	text string
	err  error
}

// Error returns one sentence without characters that a terminal interprets, or "" if the status says all.
func (e *Error) Error() string { return e.text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// commandName matches what may be a command of taskkit in a text.
var commandName = regexp.MustCompile(`\btaskkit ([a-z-]+)`)

// named returns a text in which the commands have the names under which they are reached.
func (a *App) named(text string) string {
	path := a.root.CommandPath()
	if path == "taskkit" {
		return text
	}
	return commandName.ReplaceAllStringFunc(text, func(name string) string {
		name = strings.TrimPrefix(name, "taskkit ")
		for _, c := range a.root.Commands() {
			if c.Name() == name || c.HasAlias(name) {
				return path + " " + name
			}
		}
		return "taskkit " + name
	})
}

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
func exitCode(err error) int {
	var (
		o       *statusError
		u       *usageError
		option  *taskkit.OptionError
		planned *taskops.ScheduleError
		spec    *taskkit.SpecError
	)
	switch {
	case errors.As(err, &o):
		return o.code
	case errors.As(err, &u), errors.As(err, &option), errors.As(err, &planned), errors.As(err, &spec):
		return exitUsage
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

// ExitStatus returns the exit status of a program that ends with an error of a command. Another error has the status 1.
func ExitStatus(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return exitError
}
