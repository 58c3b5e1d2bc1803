package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) queuesCommand() *cobra.Command {
	c := with(listFormats, &cobra.Command{
		Use:   "queues",
		Short: "List queues, pause and resume them",
		Long: `List queues: those in which tasks wait or run, those that a live worker serves, and those
that have been paused once. Tasks that are paused themselves are not counted. A number with a plus
is a lower bound: at most 10,000 waiting tasks are counted of each kind, revision, priority and
number of failed tries in a queue.`,
		Example: `  taskkit queues
  taskkit queues pause mail --reason "the mail server is down"
  taskkit queues resume mail`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.queues(c.Context()) },
	})
	c.AddCommand(
		with(listFormats, &cobra.Command{
			Use:     "list",
			Short:   "List queues",
			Long:    "List queues, as \"taskkit queues\" does.",
			Example: "  taskkit queues list -o json",
			Args:    noArgs,
			RunE:    func(c *cobra.Command, _ []string) error { return a.queues(c.Context()) },
		}),
		a.changeQueueCommand(&cobra.Command{
			Use:   "pause NAME",
			Short: "Pause a queue",
			Long: `Pause a queue: no worker claims a task from it until resume. Running tasks continue until they
end or come back to the queue. Waiting tasks can still be stopped and deleted. --new pauses a queue
that no task is in and no worker serves.`,
			Example: `  taskkit queues pause mail --reason "the mail server is down"`,
		}, (*taskops.Operator).PauseQueue, "paused"),
		a.changeQueueCommand(&cobra.Command{
			Use:     "resume NAME",
			Short:   "Resume a paused queue",
			Long:    "Resume a paused queue: workers claim its tasks again.",
			Example: "  taskkit queues resume mail",
		}, (*taskops.Operator).ResumeQueue, "resumed"),
	)
	return c
}

// changeQueueCommand completes a command that changes a queue. done says what has become of it.
func (a *App) changeQueueCommand(c *cobra.Command, change func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) error, done string) *cobra.Command {
	var (
		who auditFlags
		add bool
	)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("give one queue, not %d: see `%s --help`", len(args), c.CommandPath())
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		db, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		if !add {
			_, err := db.queue(c.Context(), args[0])
			if errors.Is(err, errNoQueue) && done == "paused" {
				return fmt.Errorf("%w; to pause it before there is one, add --new", err)
			}
			if err != nil {
				return err
			}
		}
		if err := change(db.Operator, c.Context(), args[0], who.options()...); err != nil {
			return err
		}
		q, err := db.queue(c.Context(), args[0])
		if err != nil {
			return err
		}
		return a.print(q, func(w io.Writer) {
			fmt.Fprintf(w, "queue %s is %s; waiting: %s, running: %s\n", screen.Clean(q.Name), done, atLeast(q.Waiting, q.MoreWaiting), screen.Count(q.Running))
			if q.Workers == 0 && q.Waiting+q.Running == 0 {
				fmt.Fprintln(a.err, "no live worker serves this queue, and no task is in it")
			}
		})
	}
	who.add(c, "with the queue")
	if done == "paused" {
		c.Flags().BoolVar(&add, "new", false, "also a queue that no task is in and no worker serves")
	}
	return c
}

// errNoQueue: no task is in a queue, and no live worker serves it.
var errNoQueue = errors.New("no such queue")

// queue reads a queue. It is an errNoQueue if the queue has no task, no live worker and no pause, since its name may be
// misspelt.
func (c *Connection) queue(ctx context.Context, name string) (taskops.QueueInfo, error) {
	queues, err := c.Queues(ctx)
	if err != nil {
		return taskops.QueueInfo{}, err
	}
	names := make([]string, len(queues))
	for i, q := range queues {
		if q.Name == name {
			return q, nil
		}
		names[i] = q.Name
	}
	known := ""
	if len(names) > 0 {
		known = "; the queues are " + strings.Join(names, ", ")
	}
	return taskops.QueueInfo{}, fmt.Errorf("%w: no task is in a queue %q, and no live worker serves it%s", errNoQueue, name, known)
}

func (a *App) queues(ctx context.Context) error {
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	queues, err := db.Queues(ctx)
	if err != nil {
		return err
	}
	return printList(a, queues, list[taskops.QueueInfo]{
		none:   "no queues: no task waits, and no worker is alive",
		name:   func(q taskops.QueueInfo) string { return q.Name },
		header: []string{"queue", "status", "waiting", "due", "oldest", "running", "workers", "note"}, numbers: []int{3, 4, 5, 6, 7},
		row: func(q taskops.QueueInfo) []string {
			status := "open"
			if q.Paused {
				status = "paused"
			}
			oldest := ""
			if q.OldestDue != nil {
				oldest = screen.Brief(q.OldestWait)
			}
			return []string{
				q.Name, status, atLeast(q.Waiting, q.MoreWaiting), atLeast(q.Due, q.MoreDue), oldest,
				screen.Count(q.Running), fmt.Sprint(q.Workers), queueNote(q),
			}
		},
	})
}

// atLeast writes a number, with a plus if it is a lower bound.
func atLeast(n int64, more bool) string {
	if more {
		return screen.Count(n) + "+"
	}
	return screen.Count(n)
}

// queueNote says who paused a queue and why, and which kinds no worker of it knows.
func queueNote(q taskops.QueueInfo) string {
	var notes []string
	if q.Paused {
		note := "paused"
		if q.PausedBy != uuid.Nil {
			note += " by " + person(q.PausedBy)
		}
		if q.PausedReason != "" {
			note += ": " + screen.Short(q.PausedReason, 60)
		}
		notes = append(notes, note)
	}
	for _, k := range q.UnknownKinds {
		notes = append(notes, fmt.Sprintf("no live worker knows %s (revision %d, tasks: at least %s)", k.Kind, k.Revision, screen.Count(k.Tasks)))
	}
	return strings.Join(notes, "; ")
}
