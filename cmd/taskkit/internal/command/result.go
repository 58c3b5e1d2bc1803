package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

func (a *App) resultCommand() *cobra.Command {
	return with(tableFormat+" "+jsonFormat+" "+ndjsonFormat, &cobra.Command{
		Use:   "result TASK",
		Short: "Print the result of a task as JSON",
		Long: `Print the result of a task as JSON. To read it here is not to fetch it: the time until the result expires
does not begin.`,
		Example: `  taskkit result @last
  taskkit result 8057 -o ndjson`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				result, err := db.Result(c.Context(), t.ID)
				switch {
				case errors.Is(err, taskkit.ErrExpired):
					return fmt.Errorf("the result of task %s has expired and is erased", t.ID)
				case errors.Is(err, taskkit.ErrNoResult) && !t.Ended():
					return fmt.Errorf("task %s has no result yet, it is %s: follow it with `taskkit watch %s%s`", t.ID, t.Status, t.ID, a.flags())
				case errors.Is(err, taskkit.ErrNoResult):
					return fmt.Errorf("task %s has no result, it ended in %s: see `taskkit show %s%s`", t.ID, t.Status, t.ID, a.flags())
				case err != nil:
					return err
				}
				return a.print(json.RawMessage(result), func(w io.Writer) { _ = screen.JSON(w, json.RawMessage(result)) })
			})
		},
	})
}

func (a *App) rateCommand() *cobra.Command {
	r := new(request)
	r.do = func(c *taskkit.Client, ctx context.Context, id taskkit.ID, opts ...taskkit.RequestOption) (*taskkit.Task, error) {
		return c.Change(ctx, id, taskkit.Settings{MaxRate: &r.rate}, opts...)
	}
	r.describe = func(_ *cobra.Command, _ *Connection, _, now *taskkit.Task) string {
		if r.rate == 0 {
			return fmt.Sprintf("task %s has no rate limit any more", now.ID)
		}
		return fmt.Sprintf("task %s processes at most %v items a second", now.ID, r.rate)
	}
	c := a.requestCommand(&cobra.Command{
		Use:   "rate TASK... RATE",
		Short: "Change how many items a second tasks process",
		Long: `Change how many items a second tasks process at most: 50 or 50/s, 90/m, or none. It is short for
"taskkit set TASK --max-rate". A running task sees it within 5 seconds of work.`,
		Example: `  taskkit rate 8057 50/s
  taskkit rate 8057 none`,
	}, r)
	run := c.RunE
	c.Args = func(c *cobra.Command, args []string) (err error) {
		if len(args) < 2 {
			return usage("want a task and a rate: see `%s --help`", c.CommandPath())
		}
		if r.rate, err = parseRate(args[len(args)-1]); err != nil {
			return err
		}
		return taskArgs(len(args))(c, args[:len(args)-1])
	}
	c.RunE = func(c *cobra.Command, args []string) error { return run(c, args[:len(args)-1]) }
	return c
}

// parseRate reads a rate in items a second.
func parseRate(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, "/")
	seconds, ok := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	rate, err := strconv.ParseFloat(number, 64)
	switch {
	case text == "none":
		return 0, nil
	case !ok || err != nil || !(rate > 0):
		return 0, usage("%q is no rate: use a number of items a second like 50 or 50/s, 90/m, or none", screen.Clean(text))
	}
	return rate / seconds, nil
}

// version is the result of version.
type version struct {
	Version string `json:"version"`
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of taskkit", Long: "Print the version of taskkit.", Example: "  taskkit version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(version{taskkit.Version}, func(w io.Writer) { fmt.Fprintln(w, "taskkit", taskkit.Version) })
		},
	}
}
