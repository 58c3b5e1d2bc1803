package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

func (a *app) schedulesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "schedules",
		Short: "List and change schedules",
		Long: `List and change schedules, which submit tasks at the times of a cron expression. Workers
that know the kind fire them. Without a subcommand the schedules are listed.`,
		Example: `  taskkit schedules
  taskkit schedules show nightly
  taskkit schedules pause nightly --reason "the mail server is being replaced"`,
		Args: noArgs,
		RunE: a.listSchedules,
	}
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List schedules", Long: "List schedules by name, with their next fires.", Example: "  taskkit schedules list -o json",
			Args: noArgs, RunE: a.listSchedules,
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show a schedule and its next five fires", Long: "Show a schedule and its next five fires.",
			Example: "  taskkit schedules show nightly", Args: scheduleArg,
			RunE: a.onSchedule(func(ctx context.Context, db *connection, name string) (*taskops.ScheduleInfo, error) {
				return db.Schedule(ctx, name)
			}, a.showSchedule),
		},
		a.setScheduleCommand(),
		a.scheduleRequest("pause", "Keep a schedule from submitting tasks", "Keep a schedule from submitting tasks until it is resumed.", (*taskops.Operator).PauseSchedule, func(*taskops.ScheduleInfo) string {
			return "is paused"
		}),
		a.scheduleRequest("resume", "Let a paused schedule go on", "Let a paused schedule go on. What it has missed is decided by its policy (--misfire).", (*taskops.Operator).ResumeSchedule, func(s *taskops.ScheduleInfo) string {
			return "goes on, next at " + nextFire(s)
		}),
		a.scheduleRequest("trigger", "Submit a task of a schedule now", "Ask the workers to submit a task of a schedule once, also while it is paused. One that knows\nthe kind does it within some seconds.", (*taskops.Operator).TriggerSchedule, func(*taskops.ScheduleInfo) string {
			return "is to submit a task once"
		}),
		a.deleteScheduleCommand(),
	)
	return c
}

// scheduleArg accepts the name of one schedule.
func scheduleArg(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes the name of one schedule, not %d: see `%s --help`", c.CommandPath(), len(args), c.CommandPath())
	}
	return nil
}

func (a *app) listSchedules(c *cobra.Command, _ []string) error {
	db, err := a.connect(c.Context())
	if err != nil {
		return err
	}
	defer db.close()
	all, err := db.Schedules(c.Context())
	if err != nil {
		return err
	}
	return a.print(all, func(io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(a.err, "no schedules")
			return
		}
		rows := make([][]string, len(all))
		for i, s := range all {
			last := ""
			if s.LastFired != nil {
				last = screen.Time(*s.LastFired)
			}
			rows[i] = []string{screen.Clean(s.Name), screen.Clean(s.Kind), screen.Clean(s.Cron), screen.Clean(s.Zone), nextFire(s), last, scheduleNote(s)}
		}
		a.out.Table([]string{"name", "kind", "cron", "zone", "next", "last", "note"}, rows)
	})
}

// nextFire is the wall time of the next fire.
func nextFire(s *taskops.ScheduleInfo) string {
	if s.Next == nil {
		return "never"
	}
	return screen.Clean(s.Next.Wall + " " + s.Zone)
}

// scheduleNote is what is unusual about a schedule.
func scheduleNote(s *taskops.ScheduleInfo) string {
	switch {
	case s.LastError != "":
		return screen.Short(s.LastError, 80)
	case s.Triggered:
		return "triggered"
	case s.Paused && s.PausedReason != "":
		return screen.Short("paused: "+s.PausedReason, 80)
	case s.Paused:
		return "paused"
	case s.Next != nil && time.Since(s.Next.At) > time.Minute:
		return "overdue: no worker fires it"
	default:
		return ""
	}
}

// onSchedule runs a call for one schedule and writes the result.
func (a *app) onSchedule(call func(ctx context.Context, db *connection, name string) (*taskops.ScheduleInfo, error), show func(*taskops.ScheduleInfo)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		db, err := a.connect(c.Context())
		if err != nil {
			return err
		}
		defer db.close()
		s, err := call(c.Context(), db, args[0])
		if err != nil {
			return err
		}
		return a.print(s, func(io.Writer) { show(s) })
	}
}

func (a *app) showSchedule(s *taskops.ScheduleInfo) {
	paused := ""
	if s.Paused {
		paused = "by " + orUnknown(person(s.PausedBy))
		if s.PausedReason != "" {
			paused += " (" + screen.Clean(s.PausedReason) + ")"
		}
	}
	spec := compact(s.SpecJSON)
	if s.SpecJSON == nil {
		spec = "not shown before the first fire: its secrets are not known"
	}
	pairs := [][2]string{
		{"name", screen.Clean(s.Name)},
		{"kind", fmt.Sprintf("%s (revision %d)", screen.Clean(s.Kind), s.SpecRevision)},
		{"cron", screen.Clean(s.Cron)},
		{"zone", screen.Clean(s.Zone)},
		{"misfire", string(s.Misfire)},
		{"paused", paused},
		{"queue", fmt.Sprintf("%s, priority %d", screen.Clean(s.Queue), s.Priority)},
		{"owner", person(s.Owner)},
		{"runs as", person(s.RunAs)},
		{"last fired", optional(s.LastFired)},
		{"for", screen.Clean(s.LastWall)},
		{"last task", nonzero(s.LastTask)},
		{"last error", indent(s.LastError)},
		{"", optional(s.LastErrorAt)},
		{"changed", screen.Time(s.Modified)},
		{"changed by", orUnknown(person(s.ModifiedBy))},
		{"spec", spec},
		{"next", nextFire(s)},
	}
	if s.Triggered {
		pairs = append(pairs, [2]string{"triggered", "a worker that knows the kind will submit a task"})
	}
	a.out.Fields(pairs)
	fmt.Fprintf(a.out, "\n%s\n", a.out.Bold("Next five fires"))
	if len(s.Fires) == 0 {
		fmt.Fprintln(a.out, "never")
		return
	}
	rows := make([][]string, len(s.Fires))
	for i, f := range s.Fires {
		rows[i] = []string{screen.Clean(f.Wall), screen.Clean(s.Zone), f.At.UTC().Format(time.RFC3339)}
	}
	a.out.Table([]string{"wall time", "zone", "instant"}, rows)
}

func orUnknown(who string) string {
	if who == "" {
		return "an unknown person"
	}
	return who
}

// scheduleRequestFunc is a method of the client that makes a request on a schedule.
type scheduleRequestFunc func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) (*taskops.ScheduleInfo, error)

// scheduleRequest is a command that makes a request on a schedule.
func (a *app) scheduleRequest(use, short, long string, do scheduleRequestFunc, describe func(*taskops.ScheduleInfo) string) *cobra.Command {
	var (
		by     personFlag
		reason string
	)
	c := &cobra.Command{Use: use + " NAME", Short: short, Long: long, Example: "  taskkit schedules " + use + " nightly", Args: scheduleArg}
	c.RunE = a.onSchedule(func(ctx context.Context, db *connection, name string) (*taskops.ScheduleInfo, error) {
		var opts []taskkit.RequestOption
		if reason != "" {
			opts = append(opts, taskkit.WithReason(reason))
		}
		if by.String() != "" {
			opts = append(opts, taskkit.WithActor(by.UUID))
		}
		return do(db.Operator, ctx, name, opts...)
	}, func(s *taskops.ScheduleInfo) {
		fmt.Fprintf(a.out, "schedule %s %s\n", screen.Clean(s.Name), describe(s))
	})
	c.Flags().StringVar(&reason, "reason", "", "`reason` to record")
	c.Flags().Var(&by, "by", "person to record")
	return c
}

func (a *app) setScheduleCommand() *cobra.Command {
	var (
		s                 taskops.Schedule
		kind, spec, queue string
		misfire           string
		owner, runAs, by  personFlag
		priority          int
	)
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Make or change a schedule",
		Long: `Make or change a schedule. What is not given stays as it is; a new schedule needs --kind,
--spec and --cron. The kind must be known to a live worker. The spec is checked when the
schedule fires: programs that have the kind check it before, with taskops.SetSchedule.`,
		Example: `  taskkit schedules set nightly --kind send_email --spec '{"template":"digest"}' --cron 'H 2 * * *' --zone Europe/Oslo
  taskkit schedules set nightly --misfire all`,
		Args: scheduleArg,
	}
	c.RunE = a.onSchedule(func(ctx context.Context, db *connection, name string) (*taskops.ScheduleInfo, error) {
		for _, name := range []string{"kind", "cron", "zone", "misfire", "queue"} {
			if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
				return nil, usage("--%s is empty: give a value, or leave it out if it shall stay as it is", name)
			}
		}
		var opts []taskkit.SubmitOption
		for _, o := range []struct {
			given  bool
			option taskkit.SubmitOption
		}{
			{owner.String() != "", taskkit.OwnedBy(owner.UUID)},
			{runAs.String() != "", taskkit.RunAs(runAs.UUID)},
			{by.String() != "", taskkit.WithActor(by.UUID)},
			{queue != "", taskkit.WithQueue(queue)},
			{c.Flags().Changed("priority"), taskkit.WithPriority(taskkit.Priority(priority))},
		} {
			if o.given {
				opts = append(opts, o.option)
			}
		}
		var raw json.RawMessage
		if c.Flags().Changed("spec") {
			raw = json.RawMessage(spec)
		}
		s.Misfire = taskops.Misfire(misfire)
		return db.SetSchedule(ctx, name, kind, raw, s, opts...)
	}, a.showSchedule)
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "`kind` of its tasks")
	f.StringVar(&spec, "spec", "", "spec of its tasks, as `JSON`")
	f.StringVar(&s.Cron, "cron", "", "five `fields`, @daily and the like, or @every 90m; H spreads load")
	f.StringVar(&s.Zone, "zone", "", "time `zone`, such as Europe/Oslo (default UTC)")
	f.StringVar(&misfire, "misfire", "", "what becomes of late fires: `once`, all or forget (default once)")
	f.StringVar(&queue, "queue", "", "`queue` of its tasks (default that of the kind)")
	f.IntVar(&priority, "priority", int(taskkit.PriorityNormal), "priority of its tasks, 1 to 4")
	f.Var(&owner, "owner", "owner of its tasks (default system)")
	f.Var(&runAs, "run-as", "person as whom its tasks run (default the owner)")
	f.Var(&by, "by", "person to record")
	return c
}

func (a *app) deleteScheduleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a schedule", Long: "Delete a schedule. Its tasks stay.", Example: "  taskkit schedules delete nightly", Args: scheduleArg,
		RunE: func(c *cobra.Command, args []string) error {
			db, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer db.close()
			if err := db.DeleteSchedule(c.Context(), args[0]); err != nil {
				return err
			}
			return a.print(map[string]string{"deleted": args[0]}, func(w io.Writer) {
				fmt.Fprintf(w, "schedule %s is deleted\n", screen.Clean(args[0]))
			})
		},
	}
}
