package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// whereFlags select the tasks of a command by a search instead of by ids.
type whereFlags struct {
	where       string
	yes, dryRun bool
}

func (f *whereFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.where, "where", "", "all tasks that match this `search`, such as \"status:failed kind:send_email\"; the word all selects every task. Filters: "+strings.Join(tasksearch.Names(), ", "))
	flags.BoolVar(&f.dryRun, "dry-run", false, "with --where, say how many tasks match and change nothing")
	flags.BoolVar(&f.yes, "yes", false, "with --where, go on without a confirmation")
	_ = c.RegisterFlagCompletionFunc("where", completeSearch)
}

// check refuses flags that contradict each other, and tasks beside a search.
func (f *whereFlags) check(c *cobra.Command, args []string) error {
	switch by := c.Flags().Changed("where"); {
	case !by && (f.yes || f.dryRun):
		return usage("--yes and --dry-run need --where")
	case !by:
		return nil
	case len(args) > 0:
		return usage("--where selects the tasks: leave out %s", screen.Clean(args[0]))
	case f.yes && f.dryRun:
		return usage("--yes and --dry-run contradict each other: leave one out")
	}
	q, err := tasksearch.Parse(f.where)
	switch {
	case err != nil:
		return usage("--where: %v", err)
	case q.Empty():
		return usage("--where is empty and selects nothing: the word all selects every task")
	}
	return nil
}

// bulkReport says what a command did to the tasks that matched.
type bulkReport struct {
	Matched int `json:"matched"`
	Done    int `json:"done"`
	Refused int `json:"refused"`
	// Refusals are the first.
	Refusals []bulkRefusal `json:"refusals,omitempty"`
	DryRun   bool          `json:"dry_run,omitempty"`
}

type bulkRefusal struct {
	ID    taskkit.ID `json:"id"`
	Error string     `json:"error"`
}

// mostRefusals is how many refusals are reported one by one.
const mostRefusals = 20

// onMatching makes a request on all tasks that match a search: they are found first, and what comes later is no part of it. Of many tasks
// the bulk operation makes it, if it has a verb.
func (a *App) onMatching(c *cobra.Command, f *whereFlags, bulk taskbulk.Request, act func(*Connection, taskkit.ID) error) error {
	q, err := tasksearch.Parse(f.where)
	if err != nil {
		return usage("--where: %v", err)
	}
	ctx := c.Context()
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	ids, err := db.matching(ctx, q)
	if err != nil {
		return err
	}
	report := bulkReport{Matched: len(ids), DryRun: f.dryRun}
	count, match := taskCount(len(ids))+" of "+q.String(), " match"
	if len(ids) == 1 {
		match = " matches"
	}
	if len(ids) > 0 && !f.dryRun {
		if err := a.confirm(c, f, count+match); err != nil {
			return err
		}
		if bulk.Verb != "" && len(ids) >= bulkFrom {
			if started, err := a.inBulk(c, db, q, bulk); started || err != nil {
				return err
			}
		}
		for _, id := range ids {
			err := act(db, id)
			switch {
			case err == nil:
				report.Done++
			case ctx.Err() != nil:
				return fmt.Errorf("interrupted after %s; the same command goes on", taskCount(report.Done+report.Refused))
			default:
				if report.Refused++; len(report.Refusals) < mostRefusals {
					report.Refusals = append(report.Refusals, bulkRefusal{id, sentence(err)})
				}
			}
		}
	}
	err = a.print(report, func(w io.Writer) {
		if f.dryRun || len(ids) == 0 {
			fmt.Fprintln(w, screen.Text(count))
			return
		}
		fmt.Fprintf(w, "%s: %s, refused: %s\n", c.Name(), screen.Count(int64(report.Done)), screen.Count(int64(report.Refused)))
		for _, r := range report.Refusals {
			fmt.Fprintln(a.err, r.ID, r.Error)
		}
		if more := report.Refused - len(report.Refusals); more > 0 {
			fmt.Fprintf(a.err, "and %s more\n", screen.Count(int64(more)))
		}
	})
	if err == nil && report.Refused > 0 {
		return &statusError{code: exitError}
	}
	return err
}

// matching returns the tasks that match a search, the newest first.
func (c *Connection) matching(ctx context.Context, q *tasksearch.Query) (ids []taskkit.ID, err error) {
	f, err := q.Filter(func(text string) (taskkit.ID, error) { return c.Resolve(ctx, text) })
	if err != nil {
		return nil, several(err)
	}
	for f.Limit = tableRows; ; {
		page, next, err := c.Tasks(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			ids = append(ids, t.ID)
		}
		if f.Before = next; next == (taskkit.ID{}) {
			return ids, nil
		}
	}
}

// confirm reads a confirmation from a terminal, and elsewhere requires --yes.
func (a *App) confirm(c *cobra.Command, f *whereFlags, matches string) error {
	if f.yes {
		return nil
	}
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.err.Terminal {
		return usage("%s: repeat the command with --yes to %s them, or with --dry-run", screen.Clean(matches), verb(c))
	}
	fmt.Fprintf(a.err, "%s. %s them? [y/N] ", screen.Clean(matches), verb(c))
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &statusError{exitError, "nothing was changed"}
}

// verb is what a command does to tasks, in a sentence.
func verb(c *cobra.Command) string {
	if c.Name() == "rm" {
		return "delete"
	}
	return c.Name()
}

// taskCount is a number of tasks in words.
func taskCount(n int) string {
	if n == 1 {
		return "1 task"
	}
	return screen.Count(int64(n)) + " tasks"
}
