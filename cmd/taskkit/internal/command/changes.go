package command

import (
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) changesCommand() *cobra.Command {
	var f taskops.ChangeFilter
	c := with(listFormats, &cobra.Command{
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
			if err := checkLimit(f.Limit); err != nil {
				return err
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
			return printList(a, changes, list[taskops.SettingChange]{
				none:   "no changes are recorded",
				name:   func(c taskops.SettingChange) string { return c.Name },
				header: []string{"time", "setting", "name", "action", "from", "to", "by", "reason"},
				row: func(c taskops.SettingChange) []string {
					return []string{screen.Time(c.Created), string(c.Setting), c.Name, c.Action, owners(c.From), owners(c.To), person(c.Actor), screen.Short(c.Reason, 60)}
				},
			})
		},
	})
	rowsFlag(c, &f.Limit, tableRows, "changes")
	return c
}

// owners writes the owner of a schedule in a setting as person does.
func owners(setting string) string {
	return strings.ReplaceAll(setting, taskkit.SystemOwner.String(), person(taskkit.SystemOwner))
}
