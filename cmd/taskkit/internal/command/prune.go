package command

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// ageFlag is a duration that may also be a number of days, such as 90d.
type ageFlag struct{ time.Duration }

func (f *ageFlag) Set(text string) error {
	age, err := parseAge(text)
	if err != nil || age <= 0 {
		return fmt.Errorf("%q is not a positive duration like 90d or 36h", text)
	}
	f.Duration = age
	return nil
}

func (f *ageFlag) String() string {
	if f.Duration == 0 {
		return ""
	}
	return f.Duration.String()
}

func (*ageFlag) Type() string { return "duration" }

// parseAge parses a duration of Go, or a number of days before "d".
func parseAge(text string) (time.Duration, error) {
	number, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, err
	}
	const day = 24 * time.Hour
	if days > math.MaxInt64/int64(day) || days < 0 {
		return 0, strconv.ErrRange
	}
	return time.Duration(days) * day, nil
}

// pruned is the result of prune-events.
type pruned struct {
	Deleted int `json:"deleted"`
}

func (a *App) pruneEventsCommand() *cobra.Command {
	var (
		age   ageFlag
		limit int
	)
	c := &cobra.Command{
		Use:   "prune-events --older-than AGE",
		Short: "Delete old events of all tasks irrevocably",
		Long: `Delete the events of all tasks that are older than a duration, irrevocably. Events
record the requests made on tasks, by whom and why. The command deletes a page in each
transaction until none is left; what it has deleted before an error stays deleted.`,
		Example: `  taskkit prune-events --older-than 90d
  taskkit prune-events --older-than 36h --batch 10000`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if age.Duration == 0 {
				return usage("--older-than is missing: give a duration like 90d")
			}
			if limit < 1 {
				return usage("--batch accepts 1 or more, not %d", limit)
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			total := 0
			for {
				n, err := db.PruneEvents(c.Context(), age.Duration, limit)
				total += n
				if err != nil && total > 0 {
					return fmt.Errorf("after %d events were deleted: %w", total, err)
				}
				if err != nil {
					return err
				}
				if n < limit {
					break
				}
			}
			return a.print(pruned{total}, func(w io.Writer) {
				fmt.Fprintf(w, "deleted %s\n", eventCount(total))
			})
		},
	}
	c.Flags().Var(&age, "older-than", "delete events older than this `age`, such as 90d or 36h")
	c.Flags().IntVar(&limit, "batch", 1000, "maximum `number` of events to delete in one transaction")
	return c
}

// eventCount is a number of events in words.
func eventCount(n int) string {
	if n == 1 {
		return "1 event"
	}
	return screen.Count(int64(n)) + " events"
}
