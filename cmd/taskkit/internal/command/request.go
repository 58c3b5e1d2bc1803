package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// ask is a call of the client that asks something of a task.
type ask func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)

// request is a command that asks something of tasks.
type request struct {
	do ask
	// said says what became of it.
	said func(c *cobra.Command, db *connection, before, now *taskkit.Task) string
	// wait, where waits is true, waits for what was asked to be done, and says how
	// it went.
	wait  func(c *cobra.Command, db *connection, now *taskkit.Task) (*taskkit.Task, string, error)
	waits bool
}

// requestCommand completes a command. Each task is asked, whatever became of
// those before it.
func (a *app) requestCommand(c *cobra.Command, r *request) *cobra.Command {
	var (
		by     personFlag
		reason string
	)
	c.Args = taskArgs(math.MaxInt)
	c.RunE = func(c *cobra.Command, args []string) error {
		db, err := a.connect(c.Context())
		if err != nil {
			return err
		}
		defer db.close()
		var opts []taskkit.RequestOption
		if reason != "" {
			opts = append(opts, taskkit.Because(reason))
		}
		if by.String() != "" {
			opts = append(opts, taskkit.By(by.UUID))
		}
		var errs []error
		for _, text := range args {
			if err := a.ask(c, db, text, r, opts); err != nil {
				errs = append(errs, err)
			}
		}
		return all(errs)
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the task's events")
	c.Flags().Var(&by, "by", "the person who asks; kept in the task's events")
	return c
}

// ask asks something of one task.
func (a *app) ask(c *cobra.Command, db *connection, text string, r *request, opts []taskkit.RequestOption) error {
	before, err := db.find(c.Context(), text)
	if err != nil {
		return err
	}
	now, err := r.do(db.Client, c.Context(), before.ID, opts...)
	if errors.Is(err, taskkit.ErrNotFound) {
		return noTask(before.ID) // gone between the two calls
	}
	if err != nil {
		return err
	}
	text = r.said(c, db, before, now)
	if r.waits && !now.Ended() {
		if a.output == "table" {
			fmt.Fprintln(a.err, screen.Clean(text))
		}
		if now, text, err = r.wait(c, db, now); err != nil {
			return err
		}
	}
	return a.print(now, func(w io.Writer) { fmt.Fprintln(w, screen.Clean(text)) })
}

// all joins errors into one sentence, and keeps the single one as it is.
func all(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = sentence(err)
	}
	code := exitError
	if o, ok := errors.AsType[*outcome](errs[0]); ok {
		code = o.code
	}
	return &outcome{code, strings.Join(texts, "; ")}
}

func (a *app) stopCommand() *cobra.Command {
	var timeout time.Duration
	r := &request{do: (*taskkit.Client).Stop}
	r.said = func(_ *cobra.Command, _ *connection, before, now *taskkit.Task) string {
		switch {
		case before.Ended():
			return fmt.Sprintf("task %s had ended before, in %s", now.ID, now.Status)
		case now.Ended():
			return fmt.Sprintf("task %s is stopped", now.ID)
		default:
			return fmt.Sprintf("task %s will stop at its next batch border", now.ID)
		}
	}
	r.wait = func(c *cobra.Command, db *connection, now *taskkit.Task) (*taskkit.Task, string, error) {
		t, err := a.wait(c.Context(), db, now, timeout, nil)
		switch {
		case err != nil:
			return nil, "", err
		case t.Status != taskkit.Completed:
			return nil, "", failure(t)
		case t.Partial():
			return t, fmt.Sprintf("task %s is stopped, with %s items", t.ID, progress(t)), nil
		default:
			return t, fmt.Sprintf("task %s was done before it could be stopped", t.ID), nil
		}
	}
	c := a.requestCommand(&cobra.Command{
		Use:   "stop TASK...",
		Short: "End tasks and keep what they have done",
		Long: `End tasks as soon as possible and keep what they have done. A task that is
running ends at its next batch border; --wait waits for that.`,
		Example: `  taskkit stop @last --reason "wrong caseload"
  taskkit stop 8057 --wait`,
	}, r)
	c.Flags().BoolVar(&r.waits, "wait", false, "wait until they have ended")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: give up after this time (default never)")
	return c
}

func (a *app) pauseCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "pause TASK...",
		Short: "Keep tasks from going on until resume",
		Long:  "Keep tasks from going on until resume. One that is running gives way after the batch in hand.",
		Example: `  taskkit pause 8057
  taskkit pause @last --reason "mail server is down"`,
	}, &request{do: (*taskkit.Client).Pause, said: func(_ *cobra.Command, _ *connection, _, now *taskkit.Task) string {
		if now.Status == taskkit.Queued {
			return fmt.Sprintf("task %s is paused", now.ID)
		}
		return fmt.Sprintf("task %s will pause at its next batch border", now.ID)
	}})
}

func (a *app) resumeCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "resume TASK...",
		Short:   "Let paused tasks go on",
		Long:    "Let paused tasks go on.",
		Example: `  taskkit resume 8057`,
	}, &request{do: (*taskkit.Client).Resume, said: func(_ *cobra.Command, _ *connection, _, now *taskkit.Task) string {
		return fmt.Sprintf("task %s may go on", now.ID)
	}})
}

func (a *app) retryCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "retry TASK...",
		Short:   "Let failed tasks go on from their last checkpoint",
		Long:    "Give tasks in FAILURE or ERROR a fresh budget and let them go on from their last checkpoint.",
		Example: `  taskkit retry 8057 --reason "the address is right now"`,
	}, &request{do: (*taskkit.Client).Retry, said: func(_ *cobra.Command, _ *connection, _, now *taskkit.Task) string {
		return fmt.Sprintf("task %s goes on from checkpoint %d", now.ID, now.Checkpoints)
	}})
}

func (a *app) rmCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "rm TASK...",
		Aliases: []string{"delete"},
		Short:   "Delete tasks with their results, irrevocably",
		Long: `Delete tasks with their results and failures, irrevocably. What they did stays,
and so do the events. One that is running is removed at its next batch border.`,
		Example: `  taskkit rm 8057 --reason "asked for by the owner"`,
	}, &request{do: (*taskkit.Client).Delete, said: func(c *cobra.Command, db *connection, _, now *taskkit.Task) string {
		if _, err := db.Task(c.Context(), now.ID); err == nil {
			return fmt.Sprintf("task %s will be removed at its next batch border", now.ID)
		}
		return fmt.Sprintf("task %s is removed", now.ID)
	}})
}
