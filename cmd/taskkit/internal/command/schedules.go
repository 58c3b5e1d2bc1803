package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

func (a *App) schedulesCommand() *cobra.Command {
	c := with(listFormats, &cobra.Command{
		Use:   "schedules",
		Short: "List and change schedules",
		Long: `List and change schedules, which submit tasks at the times of a cron expression. Workers
that know the kind fire them. Without a subcommand the schedules are listed.`,
		Example: `  taskkit schedules
  taskkit schedules show nightly
  taskkit schedules pause nightly --reason "the disk is full"`,
		Args: noArgs,
		RunE: a.listSchedules,
	})
	c.AddCommand(
		with(listFormats, &cobra.Command{
			Use: "list", Short: "List schedules", Long: "List schedules by name, with their next fires.", Example: "  taskkit schedules list -o json",
			Args: noArgs, RunE: a.listSchedules,
		}),
		&cobra.Command{
			Use: "show NAME", Short: "Show a schedule and its next five fires", Long: "Show a schedule and its next five fires.",
			Example: "  taskkit schedules show nightly", Args: scheduleArg,
			RunE: a.onSchedule(func(ctx context.Context, db *Connection, name string) (*taskops.ScheduleInfo, error) {
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

func (a *App) listSchedules(c *cobra.Command, _ []string) error {
	db, err := a.Connect(c.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Schedules(c.Context())
	if err != nil {
		return err
	}
	return printList(a, all, list[*taskops.ScheduleInfo]{
		none:   "no schedules",
		name:   func(s *taskops.ScheduleInfo) string { return s.Name },
		header: []string{"name", "kind", "cron", "zone", "next", "last", "note"},
		row: func(s *taskops.ScheduleInfo) []string {
			last := ""
			if s.LastFired != nil {
				last = screen.Time(*s.LastFired)
			}
			return []string{s.Name, s.Kind, s.Cron, s.Zone, nextFire(s), last, scheduleNote(s)}
		},
	})
}

// nextFire is the wall time of the next fire.
func nextFire(s *taskops.ScheduleInfo) string {
	if s.Next == nil {
		return "never"
	}
	return s.Next.Wall + " " + s.Zone
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
	case s.Late > time.Minute:
		return screen.Brief(s.Late) + " late: no worker fires it"
	default:
		return ""
	}
}

// onSchedule runs a call for one schedule and writes the result.
func (a *App) onSchedule(call func(ctx context.Context, db *Connection, name string) (*taskops.ScheduleInfo, error), show func(*taskops.ScheduleInfo)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		db, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		s, err := call(c.Context(), db, args[0])
		if err != nil {
			return noSchedule(args[0], err)
		}
		return a.print(s, func(io.Writer) { show(s) })
	}
}

// noSchedule adds the name to the error about a schedule that does not exist. It returns another error as it is.
func noSchedule(name string, err error) error {
	if !errors.Is(err, taskops.ErrNoSchedule) {
		return err
	}
	return fmt.Errorf("%w: %q", err, name)
}

func (a *App) showSchedule(s *taskops.ScheduleInfo) {
	paused := ""
	if s.Paused {
		paused = "yes"
		if s.PausedBy != uuid.Nil {
			paused = "by " + person(s.PausedBy)
		}
		if s.PausedReason != "" {
			paused += " (" + screen.Clean(s.PausedReason) + ")"
		}
	}
	spec := compact(s.SpecJSON)
	if s.SpecJSON == nil {
		spec = "not shown before the first fire: its secrets are not known"
	}
	pairs := [][2]string{
		{"name", s.Name},
		{"kind", fmt.Sprintf("%s (revision %d)", s.Kind, s.SpecRevision)},
		{"cron", s.Cron},
		{"zone", s.Zone},
		{"misfire", string(s.Misfire)},
		{"overlap", string(s.Overlap)},
		{"buffered", s.Buffered},
		{"paused", paused},
		{"queue", fmt.Sprintf("%s, priority %d", cmp.Or(s.Queue, "default of the kind"), s.Priority)},
		{"owner", person(s.Owner)},
		{"runs as", person(s.RunAs)},
		{"unique key", s.UniqueKey},
		{"limits", limitsOf(s.Limits)},
		{"time limit", durationOf(s.TimeLimit)},
		{"window", s.Window},
		{"last fired", optional(s.LastFired)},
		{"for", s.LastWall},
		{"last task", nonzero(s.LastTask)},
		{"last error", s.LastError},
		{"", optional(s.LastErrorAt)},
		{"changed", screen.Time(s.Modified)},
		{"changed by", person(s.ModifiedBy)},
		{"alternates", alternation(s.Alternations)},
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
		rows[i] = []string{f.Wall, s.Zone, f.At.UTC().Format(time.RFC3339)}
	}
	a.out.Table([]string{"wall time", "zone", "instant"}, rows)
}

// scheduleRequestFunc is a method of the client that makes a request on a schedule.
type scheduleRequestFunc func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) (*taskops.ScheduleInfo, error)

// scheduleRequest is a command that makes a request on a schedule.
func (a *App) scheduleRequest(use, short, long string, do scheduleRequestFunc, describe func(*taskops.ScheduleInfo) string) *cobra.Command {
	var (
		by     personFlag
		reason string
	)
	c := &cobra.Command{Use: use + " NAME", Short: short, Long: long, Example: "  taskkit schedules " + use + " nightly", Args: scheduleArg}
	c.RunE = a.onSchedule(func(ctx context.Context, db *Connection, name string) (*taskops.ScheduleInfo, error) {
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

// limitsOf describes the limits of a schedule's tasks.
func limitsOf(limits map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		parts = append(parts, fmt.Sprintf("%s: %d", screen.Clean(key), limits[key]))
	}
	return strings.Join(parts, ", ")
}

func durationOf(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// alternation says that programs disagree about a schedule.
func alternation(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("set back to the definition before %d times in a row: two programs differ", n)
}

func (a *App) setScheduleCommand() *cobra.Command {
	var (
		s                 taskops.Schedule
		kind, spec, queue string
		misfire, overlap  string
		uniqueKey, window string
		timeLimit         time.Duration
		limits            map[string]int
		owner, runAs, by  personFlag
		priority          int
	)
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Make or change a schedule",
		Long: `Make or change a schedule. What is not given stays as it is; a new schedule needs --kind,
--spec and --cron. The kind must be known to a live worker. The spec is checked when the
schedule fires: programs that have the kind check it before, with taskops.SetSchedule.`,
		Example: `  taskkit schedules set nightly --kind export_caseload --spec '{"format":"csv","targets":{"query":{"everyone":true}}}' --cron 'H 2 * * *' --zone Europe/Oslo
  taskkit schedules set nightly --misfire all`,
		Args: scheduleArg,
	}
	c.RunE = a.onSchedule(func(ctx context.Context, db *Connection, name string) (*taskops.ScheduleInfo, error) {
		for _, name := range []string{"kind", "cron", "zone", "misfire", "overlap", "queue", "unique-key", "window"} {
			if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
				return nil, usage("--%s is empty: give a value, or leave it out if it shall stay as it is", name)
			}
		}
		var opts []taskkit.SubmitOption
		for _, o := range []struct {
			given  bool
			option taskkit.SubmitOption
		}{
			{owner.String() != "", owner.owns()},
			{runAs.String() != "", taskkit.RunAs(runAs.UUID)},
			{by.String() != "", taskkit.WithActor(by.UUID)},
			{queue != "", taskkit.WithQueue(queue)},
			{uniqueKey != "", taskkit.WithUniqueKey(uniqueKey)},
			{window != "", taskkit.WithWindow(window)},
			{c.Flags().Changed("time-limit"), taskkit.WithTimeLimit(timeLimit)},
			{c.Flags().Changed("priority"), taskkit.WithPriority(taskkit.Priority(priority))},
		} {
			if o.given {
				opts = append(opts, o.option)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(limits)) { // in another order the schedule would be another
			opts = append(opts, taskkit.WithLimit(key, limits[key]))
		}
		var raw json.RawMessage
		if c.Flags().Changed("spec") {
			raw = json.RawMessage(spec)
		}
		s.Misfire, s.Overlap = taskops.Misfire(misfire), taskops.Overlap(overlap)
		if changed(c, "kind", "spec", "cron") < 3 {
			switch _, err := db.Schedule(ctx, name); {
			case errors.Is(err, taskops.ErrNoSchedule):
				return nil, usage("there is no schedule %q: to make it, give --kind, --spec and --cron", name)
			case err != nil:
				return nil, err
			}
		}
		return db.SetSchedule(ctx, name, kind, raw, s, opts...)
	}, a.showSchedule)
	f := c.Flags()
	f.StringVar(&kind, "kind", "", "`kind` of its tasks")
	f.StringVar(&spec, "spec", "", "spec of its tasks, as `JSON`")
	f.StringVar(&s.Cron, "cron", "", "five `fields`, @daily and the like, or @every 90m; H spreads load")
	f.StringVar(&s.Zone, "zone", "", "time `zone`, such as Europe/Oslo (default UTC)")
	f.StringVar(&misfire, "misfire", "", "what becomes of late fires: `once`, all or forget (default once)")
	f.StringVar(&overlap, "overlap", "", "what becomes of a fire while the last task has not ended: `skip`, buffer or allow (default skip)")
	f.StringVar(&uniqueKey, "unique-key", "", "unique `key` of its tasks: a fire is skipped while another task has it")
	f.StringToIntVar(&limits, "limit", nil, "`key=number`: how many tasks with the key execute at once; may be repeated")
	f.DurationVar(&timeLimit, "time-limit", 0, "`duration` after which a task fails, such as 2h")
	f.StringVar(&window, "window", "", "`window` in which its tasks execute, such as \"22:00-06:00 Europe/Oslo\"")
	f.StringVar(&queue, "queue", "", "`queue` of its tasks (default that of the kind)")
	f.IntVar(&priority, "priority", int(taskkit.PriorityNormal), "priority of its tasks, 1 to 4")
	f.Var(&owner, "owner", "owner of its tasks (default system)")
	f.Var(&runAs, "run-as", "person as whom its tasks run (default the owner of a new schedule)")
	f.Var(&by, "by", "person to record")
	return c
}

// deleted is the result of schedules delete.
type deleted struct {
	Deleted string `json:"deleted"` // its name
}

func (a *App) deleteScheduleCommand() *cobra.Command {
	var who auditFlags
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a schedule", Long: "Delete a schedule. Its tasks stay.", Example: "  taskkit schedules delete nightly", Args: scheduleArg,
		RunE: func(c *cobra.Command, args []string) error {
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			if err := db.DeleteSchedule(c.Context(), args[0], who.options()...); err != nil {
				return noSchedule(args[0], err)
			}
			return a.print(deleted{args[0]}, func(w io.Writer) {
				fmt.Fprintf(w, "schedule %s is deleted\n", screen.Clean(args[0]))
			})
		},
	}
	who.add(c, "with the change")
	return c
}

// owns makes the person the owner of what is submitted.
func (p *personFlag) owns() taskkit.SubmitOption {
	if p.UUID == taskkit.SystemOwner {
		return taskkit.System()
	}
	return taskkit.OwnedBy(p.UUID)
}
