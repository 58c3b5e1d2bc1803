package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) limitsCommand() *cobra.Command {
	c := with(listFormats, &cobra.Command{
		Use:   "limits",
		Short: "List the limits by key, and set them",
		Long: `List the limits by key: how many tasks with a key may execute at once, how many do, how
many wait for a permit (300+: more wait than are counted), and which tasks have one. A limit is listed while a task has it or it is set.`,
		Example: `  taskkit limits
  taskkit limits set "program 7" 4
  taskkit limits set "program 7" 0`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			limits := []taskops.LimitUse{}
			for after := ""; ; {
				page, err := db.Limits(c.Context(), after, tableRows)
				if err != nil {
					return err
				}
				limits = append(limits, page...)
				if len(page) < tableRows {
					break
				}
				after = page[len(page)-1].Key
			}
			return printList(a, limits, list[taskops.LimitUse]{
				none:   "no task has a limit, and none is set",
				name:   func(l taskops.LimitUse) string { return l.Key },
				header: []string{"key", "at most", "by", "executing", "waiting", "tasks with a permit"}, numbers: []int{2, 4, 5},
				row: func(l taskops.LimitUse) []string {
					by := "tasks"
					if l.Set {
						by = "set"
					}
					return []string{l.Key, fmt.Sprint(l.AtMost), by, fmt.Sprint(l.Executing), atLeast(l.Waiting, l.MoreWaiting), limitTasks(l)}
				},
			})
		},
	})
	c.AddCommand(a.setLimitCommand())
	return c
}

// limitTasks names the first tasks with a permit of a limit.
func limitTasks(l taskops.LimitUse) string {
	var tasks []string
	for _, t := range l.Tasks {
		tasks = append(tasks, t.Task.String())
	}
	if more := l.Executing - int64(len(tasks)); more > 0 && len(tasks) > 0 {
		tasks = append(tasks, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(tasks, " ")
}

// limitSet is the result of limits set.
type limitSet struct {
	Key    string `json:"key"`
	AtMost int    `json:"at_most"` // 0: none is set
}

func (a *App) setLimitCommand() *cobra.Command {
	var who auditFlags
	c := &cobra.Command{
		Use:   "set KEY N",
		Short: "Set how many tasks with a key execute at once",
		Long: `Set how many tasks with a key execute at once, whatever the tasks say. More makes waiting
tasks due. Less ends none that execute: it takes effect as they end. 0 removes what was set: the tasks then have
the limits that they were submitted with.`,
		Example: `  taskkit limits set "program 7" 4`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("want a key and a number: see `%s --help`", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return usage("%q is not a number of tasks: use a number from 1, or 0 to remove what was set", args[1])
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			if err := db.SetLimit(c.Context(), args[0], n, who.options()...); err != nil {
				return err
			}
			text := fmt.Sprintf("at most %d tasks with the key %q execute at once", n, args[0])
			if n == 0 {
				text = fmt.Sprintf("no limit is set for the key %q: each task with it has the limit that it was submitted with", args[0])
			}
			return a.print(limitSet{args[0], n}, func(w io.Writer) { fmt.Fprintln(w, screen.Text(text)) })
		},
	}
	who.add(c, "with the limit")
	return c
}
