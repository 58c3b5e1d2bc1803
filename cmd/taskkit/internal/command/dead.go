package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// deadFlags select dead letters.
type deadFlags struct {
	taskops.DeadFilter

	age ageFlag
}

// selection names the flags that select.
var selection = []string{"kind", "code", "queue", "older-than"}

func (f *deadFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only tasks of these `kinds`")
	c.Flags().StringVar(&f.Code, "code", "", "only tasks that failed with this `code`")
	c.Flags().StringVar(&f.Queue, "queue", "", "only tasks in this `queue`")
	c.Flags().Var(&f.age, "older-than", "only tasks that ended longer ago than this `age`, such as 14d or 36h")
	c.Flags().BoolVar(&f.Children, "children", false, "children too, such as buckets and stages")
}

// filter returns what the flags of a command select. One that was given without a value, as by a variable that
// is not set, would select everything.
func (f *deadFlags) filter(c *cobra.Command) (taskops.DeadFilter, error) {
	for flag, empty := range map[string]bool{"kind": len(f.Kinds) == 0 || slices.Contains(f.Kinds, ""), "code": f.Code == "", "queue": f.Queue == ""} {
		if empty && c.Flags().Changed(flag) {
			return taskops.DeadFilter{}, usage("--%s is empty: give a value, or leave the flag out to select all", flag)
		}
	}
	f.OlderThan = f.age.Duration
	return f.DeadFilter, nil
}

func (a *App) deadCommand() *cobra.Command {
	list := func(c *cobra.Command) *cobra.Command {
		var f deadFlags
		c.Args = noArgs
		c.RunE = func(c *cobra.Command, _ []string) error {
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			return a.dead(c.Context(), filter)
		}
		f.add(c)
		return c
	}
	c := list(&cobra.Command{
		Use:   "dead",
		Short: "List dead letters, retry and drop them",
		Long: `List dead letters, which are the tasks that have ended in FAILURE or ERROR, in groups by kind and
code. Retry or drop those of a group, or all that the flags select. Children are left out without
--children: a retry of their parent retries those that failed.`,
		Example: `  taskkit dead
  taskkit dead show --kind send_email --code database
  taskkit dead retry --code database --reason "the disk has room again" --yes
  taskkit dead drop --kind send_email --older-than 90d --yes`,
	})
	c.AddCommand(
		list(&cobra.Command{
			Use:     "list",
			Short:   "List the groups of dead letters",
			Long:    "List the groups of dead letters, as \"taskkit dead\" does.",
			Example: "  taskkit dead list --older-than 14d -o json",
		}),
		a.deadShowCommand(),
		a.deadRequestCommand(&cobra.Command{
			Use:   "retry",
			Short: "Retry dead letters",
			Long: `Retry dead letters from their last checkpoints, each with a new set of attempts. Those that cannot
be retried are reported, and the others are.`,
			Example: `  taskkit dead retry --kind send_email --code database --yes`,
		}, (*taskops.Operator).RetryDead, "retried"),
		a.deadRequestCommand(&cobra.Command{
			Use:   "drop",
			Short: "Delete dead letters with their results irrevocably",
			Long: `Delete dead letters with their results and failures irrevocably. The work that they have done and
their events remain. Those that cannot be deleted are reported, and the others are.`,
			Example: `  taskkit dead drop --older-than 90d --yes`,
		}, (*taskops.Operator).DropDead, "deleted"),
	)
	return c
}

func (a *App) dead(ctx context.Context, f taskops.DeadFilter) error {
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	groups, err := db.Dead(ctx, f)
	if err != nil {
		return err
	}
	return a.print(groups, func(io.Writer) {
		if len(groups.Truncated) > 0 {
			fmt.Fprintf(a.err, "only the newest dead letters were read of kind %s: numbers with a + are lower bounds, and there may be more groups\n", strings.Join(groups.Truncated, ", "))
		} else if len(groups.Groups) == 0 {
			fmt.Fprintln(a.err, "no dead letters")
		}
		if len(groups.Groups) == 0 {
			return
		}
		rows := make([][]string, len(groups.Groups))
		for i, g := range groups.Groups {
			tasks := screen.Count(g.Tasks)
			if slices.Contains(groups.Truncated, g.Kind) {
				tasks += "+"
			}
			rows[i] = []string{
				g.Kind, g.Code, tasks,
				g.Oldest.Format(time.DateTime), g.Newest.Format(time.DateTime), g.Example.String(),
			}
		}
		a.out.Table([]string{"kind", "code", "tasks", "oldest", "newest", "example"}, rows, 3)
	})
}

// noDead says that there is nothing to do.
func (a *App) noDead() error {
	return a.print(&taskops.DeadReport{}, func(io.Writer) { fmt.Fprintln(a.err, "no dead letters match") })
}

func (a *App) deadShowCommand() *cobra.Command {
	var (
		f      deadFlags
		limit  int
		before string
	)
	c := with(rowFormats, &cobra.Command{
		Use:   "show",
		Short: "List the tasks of a group of dead letters",
		Long:  "List the tasks that are dead letters, newest first. A list that reaches its limit ends\nwith the flag that continues it.",
		Example: `  taskkit dead show --kind send_email --code database
  taskkit dead show --older-than 14d -n 100 -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			if before != "" {
				if err := checkID(before); err != nil {
					return err
				}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			var after taskkit.ID
			if before != "" {
				if after, err = db.Resolve(c.Context(), before); err != nil {
					return several(err)
				}
			}
			tasks, next, err := search(after, limit, func(before taskkit.ID, limit int) ([]*taskkit.Task, taskkit.ID, error) {
				return db.DeadTasks(c.Context(), filter, before, limit)
			})
			if err != nil {
				return err
			}
			return a.printTasks(c.Context(), db, tasks, next, "no dead letters")
		},
	})
	f.add(c)
	rowsFlag(c, &limit, 20, "tasks")
	c.Flags().StringVar(&before, "before", "", "only tasks older than this `task`")
	return c
}

// deadRequestCommand completes a command that makes a request on dead letters. done says what becomes
// of them.
func (a *App) deadRequestCommand(c *cobra.Command, do func(*taskops.Operator, context.Context, taskops.DeadFilter, ...taskkit.RequestOption) (*taskops.DeadReport, error), done string) *cobra.Command {
	var (
		f   deadFlags
		who auditFlags
		yes bool
		all bool
	)
	c.Args = noArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		filter, err := f.filter(c)
		if err != nil {
			return err
		}
		switch selects := changed(c, selection...) > 0; {
		case all && selects:
			return usage("--all and a selection contradict each other: leave one out")
		case yes && !all && !selects:
			return usage("nothing selects the dead letters: give --kind, --code, --queue or --older-than, or --all")
		}
		db, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		if !yes {
			groups, err := db.Dead(c.Context(), filter)
			if err != nil {
				return err
			}
			var tasks int64
			for _, g := range groups.Groups {
				tasks += g.Tasks
			}
			letters, flags := screen.Count(tasks)+" dead letters", "--yes"
			switch {
			case len(groups.Truncated) > 0:
				letters = screen.Count(tasks) + " or more dead letters"
			case tasks == 0:
				return a.noDead()
			case tasks == 1:
				letters = "1 dead letter"
			}
			if changed(c, selection...) == 0 {
				flags = "--all --yes"
			}
			return usage("%s would be %s: repeat the command with %s", letters, done, flags)
		}
		report, err := do(db.Operator, c.Context(), filter, who.options()...)
		if err != nil {
			return err
		}
		if report.Done+report.Refused == 0 {
			return a.noDead()
		}
		err = a.print(report, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %s, refused: %s\n", done, screen.Count(report.Done), screen.Count(report.Refused))
			for _, r := range report.Refusals {
				fmt.Fprintln(a.err, r.ID, sentence(r.Err))
			}
		})
		if err == nil && report.Refused > 0 {
			return &statusError{code: exitError}
		}
		return err
	}
	f.add(c)
	who.add(c, "in the tasks' events")
	c.Flags().BoolVar(&all, "all", false, "all dead letters")
	c.Flags().BoolVar(&yes, "yes", false, "do it; without this flag the command says how many tasks it would be")
	return c
}
