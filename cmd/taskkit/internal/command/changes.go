package command

import (
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) changesCommand() *cobra.Command {
	var f taskops.ChangeFilter
	c := &cobra.Command{
		Use:   "changes [queue|limit|schedule [NAME]]",
		Short: "List who changed queues, limits and schedules",
		Long: `List the changes of queues, limits and schedules, newest first: who made them, when and why, and
what was there before and after. They are kept as long as the events of tasks.`,
		Example: `  taskkit changes
  taskkit changes schedule nightly
  taskkit changes limit "program 7" -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usage("give a setting and its name: see `%s --help`", c.CommandPath())
			}
			if len(args) > 0 {
				switch f.Setting = taskops.Setting(args[0]); f.Setting {
				case taskops.SettingQueue, taskops.SettingLimit, taskops.SettingSchedule:
				default:
					return usage("%q is no setting: use queue, limit or schedule", args[0])
				}
			}
			if len(args) > 1 {
				f.Name = args[1]
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > 1000 {
				return usage("--limit accepts 1 to 1000, not %d", f.Limit)
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			changes, err := db.SettingChanges(c.Context(), f)
			if err != nil {
				return err
			}
			return a.print(changes, func(io.Writer) {
				if len(changes) == 0 {
					fmt.Fprintln(a.err, "no changes are recorded")
					return
				}
				rows := make([][]string, len(changes))
				for i, c := range changes {
					by := ""
					if c.Actor != uuid.Nil {
						by = c.Actor.String()
					}
					rows[i] = []string{c.Created.UTC().Format(time.RFC3339), string(c.Setting), c.Name, c.Action, c.From, c.To, by, screen.Short(c.Reason, 60)}
				}
				a.out.Table([]string{"time", "setting", "name", "action", "from", "to", "by", "reason"}, rows)
			})
		},
	}
	c.Flags().IntVar(&f.Limit, "limit", tableRows, "maximum `number` of changes")
	return c
}
