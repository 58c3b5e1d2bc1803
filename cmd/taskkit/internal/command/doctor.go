package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
)

func (a *App) doctorCommand() *cobra.Command {
	var o taskdoctor.Options
	var strict bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong, and what mends it",
		Long: `Find what is wrong with tasks, workers, queues, schedules and the database, and what mends it.
It changes nothing: each check is a read-only transaction that is rolled back. A check that cannot
read what it needs is unknown, and the others are made all the same.

Exit status: 0 nothing worse than information, 1 warnings, 2 errors, or the database does not
answer. With --strict a warning and an unknown check end with 2, too, for a pipeline.`,
		Example: `  taskkit doctor
  taskkit doctor -o json
  taskkit doctor --strict --due 1h`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.open(c.Context(), false)
			if err != nil {
				return sick(err)
			}
			defer db.Close()
			o.Schema = a.Schema()
			report, err := taskdoctor.Run(c.Context(), db.DB, o)
			if err != nil {
				return sick(err)
			}
			if err := a.print(report, func(io.Writer) { a.printReport(report) }); err != nil {
				return err
			}
			if code := report.ExitStatus(strict); code != 0 {
				return &statusError{code: code}
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&strict, "strict", false, "end with 2 for warnings and unknown checks, too")
	f.DurationVar(&o.Due, "due", 0, "how long a task may have been due (default 10m)")
	f.DurationVar(&o.Approval, "approval", 0, "how long a task may wait for its approval (default 24h)")
	f.DurationVar(&o.Transaction, "transaction", 0, "how old a transaction of PostgreSQL may be (default 15m)")
	return c
}

// sick ends the command with the status of an error: a database that cannot be examined is not well.
func sick(err error) error {
	_, option := errors.AsType[*taskkit.OptionError](err)
	_, wrong := errors.AsType[*usageError](err)
	if option || wrong {
		return err
	}
	return &statusError{taskdoctorError, sentence(err)}
}

// taskdoctorError is the exit status of errors, see [taskdoctor.Report.ExitStatus].
const taskdoctorError = 2

// printReport writes a report for people.
func (a *App) printReport(r *taskdoctor.Report) {
	for i, f := range r.Findings {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		severity := strings.ToUpper(string(f.Severity))
		if f.Severity == taskdoctor.Error {
			severity = a.out.Red(severity)
		}
		fmt.Fprintf(a.out, "%s %s: %s\n", severity, a.out.Bold(screen.Clean(f.ID)), screen.Text(f.Text))
		affected := strings.Join(f.Affected, " ")
		if f.More > 0 {
			affected += fmt.Sprintf(" and %d more", f.More)
		}
		since := ""
		if f.Since != nil {
			since = f.Since.UTC().Format(time.RFC3339)
		}
		a.out.Fields([][2]string{{"  since", since}, {"  affected", affected}, {"  fix", f.Fix}, {"  run", a.named(f.Command)}, {"  sql", f.SQL}, {"  see", f.Docs}})
	}
	for _, u := range r.Unknown {
		fmt.Fprintf(a.err, "unknown: %s: %s\n", screen.Clean(u.Check), screen.Text(u.Reason))
	}
	if len(r.Findings) == 0 {
		fmt.Fprintf(a.err, "nothing found in %d checks\n", len(r.Checks))
	}
}
