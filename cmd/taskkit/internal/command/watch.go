package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
)

func (a *App) watchCommand() *cobra.Command {
	var (
		timeout time.Duration
		at      applicationFlags
	)
	c := &cobra.Command{
		Use:   "watch TASK",
		Short: "Follow a task until it ends",
		Long: `Follow a task until it ends, with its items in a second of the last minute of work and
the time that the rest takes. Ctrl-C ends the command and does not affect the task.
While the database cannot be reached, the command tries again. With --url it follows a task of
an application over HTTP (package taskhttp), whose full id must be given, and prints the job with -o json.
The exit status says how the task ended: 0 completed, 3 failed, 4 stopped or
deleted, 5 not ended within --timeout.`,
		Example: `  taskkit watch @last
  taskkit watch 8057 --timeout 10m && echo done
  taskkit watch 01890a5d-ac96-774b-bcce-b302099a8057 --url https://campus.example`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if timeout < 0 {
				return usage("--timeout accepts a duration like 10m, not %v", timeout)
			}
			if err := at.check(); err != nil {
				return err
			}
			if at.url != "" {
				id, err := taskkit.ParseID(args[0])
				if err != nil {
					return usage("with --url a task is given by its full id, not as %q", screen.Clean(args[0]))
				}
				app, err := at.application()
				if err != nil {
					return err
				}
				return a.watchElsewhere(c.Context(), app, id, nil, timeout)
			}
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				return a.watch(c.Context(), db, t, timeout)
			})
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time (default never)")
	at.add(c.Flags(), "follow a task of the application at this `URL`, over HTTP, instead of one in a database")
	return c
}

// watch follows a task and returns an error unless it completed.
func (a *App) watch(ctx context.Context, db *Connection, t *taskkit.Task, timeout time.Duration) error {
	l := &line{Screen: a.out, off: a.output == jsonFormat}
	ended, err := a.wait(ctx, db, t, timeout, l)
	l.end()
	if a.output == jsonFormat && ended != nil {
		if err := screen.JSON(a.out, operatorsTask(ended)); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case ended.Partial:
		return wasStopped(ended.ID)
	case ended.Status != taskkit.StatusCompleted:
		return failure(ended)
	}
	return nil
}

// wasStopped and wasDeleted return the errors for a task that was stopped or deleted.
func wasStopped(id taskkit.ID) error {
	return &statusError{exitStopped, fmt.Sprintf("task %s was stopped before it completed", id)}
}

func wasDeleted(id taskkit.ID) error {
	return &statusError{exitStopped, fmt.Sprintf("task %s was deleted", id)}
}

// failure is the error for a task that failed.
func failure(t *taskkit.Task) error {
	return &statusError{exitFailed, fmt.Sprintf("task %s ended in %s: %s", t.ID, t.Status, screen.Short(t.StatusDetail, 200))}
}

// wait waits until a task has ended and shows its progress on l. A deleted task, a
// timeout and an interrupt are reported as a *statusError.
func (a *App) wait(ctx context.Context, db *Connection, t *taskkit.Task, timeout time.Duration, l *line) (*taskkit.Task, error) {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	failed := outage{screen: a.err, of: "the database"}
	rate, why := speedReader{client: db.Client}, causeReader{client: db.Client}
	ended, err := db.Wait(limited, t.ID, func(now *taskkit.Task, err error) {
		if failed.changes(err) {
			l.end()
		}
		failed.report(err)
		if err == nil {
			l.show(follow(now, why.of(limited, now)) + rate.of(limited, now))
		}
	})
	switch {
	case err == nil:
		return ended, nil
	case ctx.Err() != nil:
		return nil, &statusError{exitInterrupted, fmt.Sprintf("stopped watching; the task continues. To watch again: taskkit watch %s%s", t.ID, a.flags())}
	case limited.Err() != nil && ended != nil:
		return nil, &statusError{exitTimeout, fmt.Sprintf("task %s has not ended within %v; it continues. Last status: %s%s", t.ID, timeout, follow(ended, why.text), failed.suffix())}
	case limited.Err() != nil:
		return nil, &statusError{exitTimeout, fmt.Sprintf("task %s has not ended within %v; it continues%s", t.ID, timeout, failed.suffix())}
	case errors.Is(err, taskkit.ErrNotFound):
		return nil, wasDeleted(t.ID)
	default:
		return nil, err
	}
}

// flags returns the flags that name the same database.
func (a *App) flags() string {
	s := ""
	if a.url != "" {
		if at, err := ParseAddress(a.url); err == nil {
			s = " -d " + at.Shell()
		}
	}
	if a.schema != a.Config.Schema {
		s += " --schema " + a.schema
	}
	return s
}

// causeReader reads from time to time why no worker has a task that is due.
type causeReader struct {
	client *taskkit.Client
	read   time.Time
	text   string
}

// of returns the cause for which a task is where it is, without times and numbers, which would change with every line. If it
// cannot be read it is what it was.
func (r *causeReader) of(ctx context.Context, t *taskkit.Task) string {
	c := t.Cause()
	if c != taskcause.Due {
		r.read, r.text = time.Time{}, inWords(c)
		return r.text
	}
	if time.Since(r.read) < progressEvery {
		return r.text
	}
	if r.read.IsZero() {
		r.text = inWords(c)
	}
	r.read = time.Now()
	if explained, err := r.client.ExplainAll(ctx, []*taskkit.Task{t}); err == nil {
		switch e := explained[0]; e.Cause {
		case taskcause.Due, taskcause.SlotsBusy:
			r.text = inWords(e.Cause)
		default:
			r.text = screen.Short(e.Note, noteWidth)
		}
	}
	return r.text
}

func inWords(c taskcause.Cause) string { return strings.ReplaceAll(string(c), "_", " ") }

// follow formats the line that watch shows, with why the task is where it is.
func follow(t *taskkit.Task, why string) string {
	id := t.ID.String()
	s := fmt.Sprintf("%s %s  %s  %s", screen.Clean(t.Kind), id[len(id)-8:], t.Status, progress(t))
	if p := t.Progress; p.Total > 0 {
		s += fmt.Sprintf(" (%d%%)", p.Processed()*100/p.Total)
	}
	if t.Progress.Failed > 0 {
		s += ", failed " + screen.Count(t.Progress.Failed)
	}
	switch t.Cause() {
	case taskcause.Done, taskcause.Running:
	case taskcause.Failed, taskcause.CrashLoop, taskcause.NotRun:
		s += "  " + screen.Short(t.StatusDetail, 60)
	default:
		s += "  " + why
	}
	return s
}

// line is redrawn in place on a terminal. Elsewhere it is written whenever it has
// changed.
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
		fmt.Fprintln(l, screen.Clean(s))
	}
	l.last = s
}

// end moves to the next line. What is shown after it is shown again.
func (l *line) end() {
	if l.Terminal && l.last != "" {
		fmt.Fprintln(l)
	}
	l.last = ""
}
