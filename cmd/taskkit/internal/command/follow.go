package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// followFunc submits a task that is made from another.
type followFunc func(c *taskkit.Client, ctx context.Context, id taskkit.ID, opts ...taskkit.SubmitOption) (taskkit.ID, error)

// follow submits a task for each of some tasks, even after one has failed.
func (a *App) follow(c *cobra.Command, args []string, describe string, opts []taskkit.SubmitOption, do followFunc) error {
	db, err := a.Connect(c.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	var errs []error
	for _, text := range args {
		if err := a.followOne(c.Context(), db, text, describe, opts, do); err != nil {
			errs = append(errs, err)
		}
	}
	return all(errs)
}

func (a *App) followOne(ctx context.Context, db *Connection, text, describe string, opts []taskkit.SubmitOption, do followFunc) error {
	first, err := db.find(ctx, text)
	if err != nil {
		return err
	}
	id, err := do(db.Client, ctx, first.ID, opts...)
	if errors.Is(err, taskkit.ErrNotFound) {
		return noTask(first.ID) // deleted between the two calls
	}
	if err != nil {
		return err
	}
	return a.printMade(ctx, db, id, func(*taskkit.Task) string { return fmt.Sprintf("%s %s", describe, first.ID) })
}

// printMade prints a task that was made from others, and says what it does.
func (a *App) printMade(ctx context.Context, db *Connection, id taskkit.ID, does func(*taskkit.Task) string) error {
	made, err := db.Task(ctx, id)
	if err != nil {
		return err
	}
	return a.printNamed(id.String(), operatorsTask(made), func(w io.Writer) {
		fmt.Fprintln(w, a.named(screen.Text(fmt.Sprintf("task %s %s", id, does(made)))))
	})
}

// submitFlags are the flags of a command that submits tasks.
type submitFlags struct {
	by     personFlag
	reason string
}

func (f *submitFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.reason, "reason", "", "`reason` to record with the new task")
	c.Flags().Var(&f.by, "by", "person to record with the new task")
}

// options returns the options that the flags stand for.
func (f *submitFlags) options() (opts []taskkit.SubmitOption) {
	if f.reason != "" {
		opts = append(opts, taskkit.WithReason(f.reason))
	}
	if f.by.String() != "" {
		opts = append(opts, taskkit.WithActor(f.by.UUID))
	}
	return opts
}

func (a *App) continueCommand() *cobra.Command {
	var flags submitFlags
	c := with(listFormats, &cobra.Command{
		Use:   "continue TASK...",
		Short: "Submit tasks that go on where stopped or failed ones ended",
		Long: `Submit a new task for each task that was stopped, or is in ERROR or FAILURE. It goes
on from the last checkpoint, over the items that are unprocessed. The first task stays
as it is and can no longer be retried.`,
		Example: `  taskkit continue @last
  taskkit continue 8057 --reason "the registry is back"`,
		Args: taskArgs(math.MaxInt),
		RunE: func(c *cobra.Command, args []string) error {
			return a.follow(c, args, "continues", flags.options(), (*taskkit.Client).Continue)
		},
	})
	flags.add(c)
	return c
}

func (a *App) applyCommand() *cobra.Command {
	var flags submitFlags
	c := with(listFormats, &cobra.Command{
		Use:   "apply TASK...",
		Short: "Submit the tasks that previews have previewed",
		Long: `Submit a new task for each preview that has COMPLETED, over exactly the set that was
previewed. Read the preview first, with "taskkit show TASK".`,
		Example: `  taskkit apply @last
  taskkit apply 8057 --reason "the report is as expected"`,
		Args: taskArgs(math.MaxInt),
		RunE: func(c *cobra.Command, args []string) error {
			return a.follow(c, args, "applies the preview", flags.options(), (*taskkit.Client).Apply)
		},
	})
	flags.add(c)
	return c
}

func (a *App) retryItemsCommand() *cobra.Command {
	var (
		flags  submitFlags
		choice failureFlags
		file   string
	)
	c := with(listFormats, &cobra.Command{
		Use:   "retry-failed [TASK...]",
		Short: "Submit tasks for the failed items of others",
		Long: `Submit a new task for each task that has ended, over its failed items.

With --together, or a flag that selects items, one new task is submitted over the failed items of
all tasks. --kind with --since selects all tasks of a kind instead of naming them.

With --corrected, what the file has in its column corrected takes the place of an item.
Make the file with "taskkit items TASK --failed -o csv", and change nothing else in it,
not even the order. - is the standard input.`,
		Example: `  taskkit retry-failed @last --reason "address corrected"
  taskkit items 8057 --failed -o csv > failed.csv
  taskkit retry-failed 8057 --corrected failed.csv
  taskkit retry-failed --kind send_mail --since 24h --code mailbox_full`,
		Args: func(c *cobra.Command, args []string) error {
			if choice.kind != "" && len(args) == 0 {
				return nil
			}
			return taskArgs(math.MaxInt)(c, args)
		},
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if choice.given() {
			if file != "" {
				return usage("--corrected takes all failed items of one task: leave out the flags that select some")
			}
			return a.retrySelected(c.Context(), args, &choice, flags.options())
		}
		do := (*taskkit.Client).RetryFailed
		if file != "" {
			if len(args) > 1 {
				return usage("--corrected takes one task, not %d: see `%s --help`", len(args), c.CommandPath())
			}
			in := c.InOrStdin()
			if file != "-" {
				f, err := os.Open(file)
				if err != nil {
					return usage("%v", err)
				}
				defer f.Close()
				in = f
			}
			do = func(client *taskkit.Client, ctx context.Context, id taskkit.ID, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
				return client.RetryCorrected(ctx, id, taskkit.CorrectionsFromCSV(in), opts...)
			}
		}
		return a.follow(c, args, "retries the failed items of", flags.options(), do)
	}
	flags.add(c)
	choice.add(c)
	c.Flags().StringVar(&file, "corrected", "", "CSV `file` of the failed items, with what they become")
	return c
}
