package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

func (a *app) watchCommand() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "watch TASK",
		Short: "Follow a task to its end",
		Long: `Follow a task to its end. Ctrl-C leaves the task alone and only ends the
watching. The exit status says how the task ended: 0 done, 3 failed, 4 stopped or
deleted, 5 not within --timeout.`,
		Example: `  taskkit watch @last
  taskkit watch 8057 --timeout 10m && echo done`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if timeout < 0 {
				return usage("--timeout takes a duration like 10m, not %v", timeout)
			}
			return a.on(c, args[0], func(db *connection, t *taskkit.Task) error {
				return a.watch(c.Context(), db, t, timeout)
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time (default never)")
	return c
}

// watch follows a task and returns how it ended.
func (a *app) watch(ctx context.Context, db *connection, t *taskkit.Task, timeout time.Duration) error {
	l := &line{Screen: a.out, off: a.output == "json"}
	ended, err := a.wait(ctx, db, t, timeout, func(now *taskkit.Task) { l.show(follow(now)) })
	l.end()
	if a.output == "json" && ended != nil {
		if err := screen.JSON(a.out, ended); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case ended.Partial():
		return &outcome{exitStopped, fmt.Sprintf("task %s was stopped before it was done", ended.ID)}
	case ended.Status != taskkit.Completed:
		return failure(ended)
	}
	return nil
}

// failure is the outcome of a task that failed.
func failure(t *taskkit.Task) error {
	return &outcome{exitFailed, fmt.Sprintf("task %s ended in %s: %s", t.ID, t.Status, screen.Short(t.Desc, 200))}
}

// wait waits for a task's end. A task that is gone, a timeout and an interrupt
// are outcomes.
func (a *app) wait(ctx context.Context, db *connection, t *taskkit.Task, timeout time.Duration, each func(*taskkit.Task)) (*taskkit.Task, error) {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	ended, err := db.Wait(limited, t.ID, each)
	switch {
	case err == nil:
		return ended, nil
	case ctx.Err() != nil:
		return nil, &outcome{exitInterrupted, fmt.Sprintf("no longer watching; the task goes on. Come back with: taskkit watch %s%s", t.ID, a.flags())}
	case limited.Err() != nil:
		return nil, &outcome{exitTimeout, fmt.Sprintf("task %s has not ended within %v; it goes on", t.ID, timeout)}
	case errors.Is(err, taskkit.ErrNotFound):
		return nil, &outcome{exitStopped, fmt.Sprintf("task %s was deleted", t.ID)}
	default:
		return nil, err
	}
}

// flags returns the flags that name the same database again.
func (a *app) flags() string {
	s := ""
	if a.url != "" {
		if at, err := parseAddress(a.url); err == nil {
			s = " -d " + at.Shell()
		}
	}
	if a.schema != "" {
		s += " --schema " + a.schema
	}
	return s
}

// follow is the line that watch shows.
func follow(t *taskkit.Task) string {
	id := t.ID.String()
	s := fmt.Sprintf("%s %s  %s  %s", screen.Clean(t.Kind), id[len(id)-8:], t.Status, progress(t))
	if p := t.Progress; p.Total > 0 {
		s += fmt.Sprintf(" (%d%%)", p.Dealt()*100/p.Total)
	}
	if t.Progress.Failed > 0 {
		s += ", failed " + screen.Count(t.Progress.Failed)
	}
	if n := note(t); n != "" {
		s += "  " + n
	}
	return s
}

// line is a line that is drawn again in a terminal, and elsewhere written when
// it has changed.
type line struct {
	screen.Screen
	off   bool
	last  string
	began time.Time
}

func (l *line) show(s string) {
	if l.off {
		return
	}
	if l.began.IsZero() {
		l.began = time.Now()
	}
	if l.Terminal {
		s += "  " + screen.Brief(time.Since(l.began))
		fmt.Fprint(l, "\r\x1b[K"+screen.Short(s, max(l.Width()-1, 10)))
	} else if s != l.last {
		fmt.Fprintln(l, s)
	}
	l.last = s
}

// end leaves the line.
func (l *line) end() {
	if l.Terminal && l.last != "" {
		fmt.Fprintln(l)
	}
}
