package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) lsCommand() *cobra.Command {
	var (
		f      taskkit.Filter
		owner  personFlag
		status []string
		parent string
		before string
		follow bool
	)
	c := with(rowFormats, &cobra.Command{
		Use:   "ls",
		Short: "List tasks, newest first",
		Long: `List tasks, newest first. Children, such as the buckets of a task, are listed with --children, and
where --parent, --reference or --unique-key selects them. A list that reaches its limit, or has read 500,000
tasks to find them, ends with the flag that continues it.`,
		Example: `  taskkit ls --status failed
  taskkit ls --running --watch
  taskkit ls --parent @last --status failure
  taskkit ls --kind send_email -n 100 -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkLimit(f.Limit); err != nil {
				return err
			}
			if follow && a.output != tableFormat && a.output != ndjsonFormat {
				return usage("--watch prints a table, or lines with -o ndjson")
			}
			for _, s := range status {
				if err := tasksearch.AddStatus(strings.TrimSpace(s), &f.Statuses); err != nil {
					return usage("--status: %v", err)
				}
			}
			for _, id := range []string{parent, before} {
				if id == "" {
					continue
				}
				if err := checkID(id); err != nil {
					return err
				}
			}
			for flag, empty := range map[string]bool{
				"parent": parent == "", "reference": f.Reference == "", "unique-key": f.UniqueKey == "", "queue": f.Queue == "", "status": len(status) == 0,
				"kind": len(f.Kinds) == 0 || slices.Contains(f.Kinds, ""),
			} {
				if empty && c.Flags().Changed(flag) {
					return usage("--%s is empty: give a value, or leave the flag out", flag)
				}
			}
			f.Owner = owner.UUID
			return a.ls(c, f, parent, before, follow)
		},
	})
	flags := c.Flags()
	flags.StringSliceVar(&f.Kinds, "kind", nil, "only tasks of these `kinds`")
	flags.StringSliceVar(&status, "status", nil, "only tasks in these `statuses`: "+strings.Join(tasksearch.Statuses(), ", "))
	flags.Var(&owner, "owner", "only tasks of this owner")
	flags.StringVar(&f.Queue, "queue", "", "only tasks in this `queue`")
	flags.BoolVar(&f.Children, "children", false, "children too, such as buckets and stages")
	flags.StringVar(&parent, "parent", "", "only children of this `task`")
	flags.StringVar(&f.Reference, "reference", "", "only tasks with this `reference`")
	flags.StringVar(&f.UniqueKey, "unique-key", "", "only tasks with this unique `key`")
	flags.BoolVar(&f.Running, "running", false, "only tasks that a worker has, or that have such a child")
	flags.BoolVar(&f.Paused, "paused", false, "only paused tasks")
	flags.BoolVar(&f.Approval, "approval", false, "only tasks that wait for approval")
	flags.BoolVar(&f.Previews, "previews", false, "only previews")
	rowsFlag(c, &f.Limit, 20, "tasks")
	flags.BoolVarP(&follow, "watch", "w", false, "list the tasks again every two seconds, until Ctrl-C; without a terminal, those that have changed")
	flags.StringVar(&before, "before", "", "only tasks older than this `task`")
	return c
}

func (a *App) ls(c *cobra.Command, f taskkit.Filter, parent, before string, follow bool) error {
	ctx := c.Context()
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	for text, id := range map[string]*taskkit.ID{parent: &f.Parent, before: &f.Before} {
		if text == "" {
			continue
		}
		if *id, err = db.Resolve(ctx, text); err != nil {
			return several(err)
		}
	}
	read := func() ([]*taskkit.Task, taskkit.ID, error) {
		f := f
		return search(f.Before, f.Limit, func(before taskkit.ID, limit int) ([]*taskkit.Task, taskkit.ID, error) {
			f.Before, f.Limit = before, limit
			return db.Tasks(ctx, f)
		})
	}
	if follow {
		return a.watchList(ctx, db, read)
	}
	tasks, next, err := read()
	if err != nil {
		return err
	}
	return a.printTasks(ctx, db, tasks, next, "no tasks")
}

// searchPages is how many pages a command reads to find tasks that are rare.
const searchPages = 50

// search reads pages until there are as many tasks as a limit.
func search(before taskkit.ID, limit int, page func(before taskkit.ID, limit int) ([]*taskkit.Task, taskkit.ID, error)) (tasks []*taskkit.Task, next taskkit.ID, err error) {
	next = before
	for range searchPages {
		var found []*taskkit.Task
		if found, next, err = page(next, limit-len(tasks)); err != nil {
			return nil, next, err
		}
		if tasks = append(tasks, found...); len(tasks) == limit || next == (taskkit.ID{}) {
			break
		}
	}
	return tasks, next, nil
}

// listed is a task in a list, with the cause for which it is where it is.
type listed struct {
	taskJSON
	Cause taskcause.Cause `json:"cause"`
	Note  string          `json:"note,omitempty"`
}

// noteWidth is how many characters of a note are in a table. It begins with the cause.
const noteWidth = 100

// listedTasks adds to tasks why they are where they are.
func listedTasks(tasks []*taskkit.Task, explained []*taskkit.Explanation) []listed {
	page := make([]listed, len(tasks))
	for i, t := range tasks {
		page[i] = listed{operatorsTask(t), explained[i].Cause, explained[i].Note}
	}
	return page
}

// printTasks writes a page of tasks, or that there is none, and where the list goes on.
func (a *App) printTasks(ctx context.Context, db *Connection, tasks []*taskkit.Task, next taskkit.ID, none string) error {
	explained, err := db.ExplainAll(ctx, tasks)
	if err != nil {
		return err
	}
	page := listedTasks(tasks, explained)
	switch more := next != (taskkit.ID{}); {
	case more && len(tasks) == 0:
		fmt.Fprintf(a.err, "%s among those that were read: use --before %s for older ones\n", none, next)
	case more:
		fmt.Fprintf(a.err, "there may be more: use --before %s\n", next)
	case len(tasks) == 0:
		fmt.Fprintln(a.err, none)
	}
	return printList(a, page, taskList)
}

// taskList is how a list of tasks is printed. That it is empty has been said.
var taskList = list[listed]{
	name:   func(t listed) string { return t.ID.String() },
	header: []string{"id", "kind", "status", "items", "failed", "queue", "time", "note"}, numbers: []int{4, 5, 7},
	row: func(t listed) []string {
		return []string{
			t.ID.String(), t.Kind, status(t.Task), progress(t.Task), failed(t.Task),
			t.Queue, screen.Brief(t.Elapsed), screen.Short(t.Note, noteWidth),
		}
	},
	csvHeader: []string{"id", "kind", "status", "done", "failed", "skipped", "total", "queue", "owner", "created", "ended", "cause", "note"},
	csvRow: func(t listed) []string {
		total, ended := "", ""
		if t.Progress.Total >= 0 {
			total = fmt.Sprint(t.Progress.Total)
		}
		if t.Stopped != nil {
			ended = t.Stopped.UTC().Format(time.RFC3339)
		}
		return []string{
			t.ID.String(), t.Kind, status(t.Task), fmt.Sprint(t.Progress.Done), fmt.Sprint(t.Progress.Failed), fmt.Sprint(t.Progress.Skipped), total,
			t.Queue, person(t.Owner), t.Created.UTC().Format(time.RFC3339), ended, string(t.Cause), t.Note,
		}
	},
}

func (a *App) workersCommand() *cobra.Command {
	return with(listFormats, &cobra.Command{
		Use:   "workers",
		Short: "List workers",
		Long:  "List workers that are running and those that ended in the last hour.",
		Example: `  taskkit workers
  taskkit workers -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			workers, err := db.Workers(c.Context())
			if err != nil {
				return err
			}
			return printList(a, workers, list[taskops.WorkerInfo]{
				none:   "no workers are running, and none ended in the last hour",
				name:   func(w taskops.WorkerInfo) string { return w.ID },
				header: []string{"worker", "status", "busy", "heartbeat", "presence", "kinds", "queues", "version", "end reason"}, numbers: []int{3, 4, 6},
				row: func(w taskops.WorkerInfo) []string {
					return []string{
						w.ID, workerStatus(w), fmt.Sprintf("%d/%d", w.Busy, w.Slots), screen.Brief(w.Silence) + " ago", presence(w),
						fmt.Sprint(len(w.Kinds)), strings.Join(w.Queues, ","), w.Version, endReason(w),
					}
				},
			})
		},
	})
}

// workerStatus returns the state of a worker in one word.
func workerStatus(w taskops.WorkerInfo) string {
	switch {
	case w.Ended != nil:
		return "ended"
	case !w.Alive:
		return "silent"
	case w.Draining:
		return "draining"
	case w.SafeMode:
		return "safe mode"
	default:
		return "alive"
	}
}

// presence says whether others notice at once when a worker is gone.
func presence(w taskops.WorkerInfo) string {
	if w.Present {
		return "lock"
	}
	return "-"
}

// endReason says why a worker ended, and whether it did.
func endReason(w taskops.WorkerInfo) string {
	reason := screen.Short(w.EndReason, 60)
	if w.FoundAlive != nil {
		reason += "; it still ran"
	}
	return reason
}

// progress formats the number of processed items and the total.
func progress(t *taskkit.Task) string {
	if t.Progress.Total < 0 {
		return screen.Count(t.Progress.Processed())
	}
	return screen.Count(t.Progress.Processed()) + "/" + screen.Count(t.Progress.Total)
}

func failed(t *taskkit.Task) string {
	if t.Progress.Failed == 0 {
		return ""
	}
	return screen.Count(t.Progress.Failed)
}

func joined[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
