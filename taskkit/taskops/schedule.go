package taskops

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/cronline"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// Schedule says when a schedule submits a task. See [SetSchedule].
type Schedule struct {
	// Cron has five fields: minute, hour, day of month, month and day of week. A field is *, or
	// a list of values and ranges such as 1,10-20, each perhaps with a step such as /5; months and
	// days have names, such as jan and mon. If day of month and day of week are both
	// restricted, either may match. H stands for a value that is computed from the name of
	// the schedule, so that not all begin at the same time: "H 2 * * *" is some minute
	// after two, "H(0-29) * * * *" and "H/15 * * * *" are others. @yearly, @monthly, @weekly,
	// @daily and @hourly are expressions of five fields. "@every 90m" is an interval, which
	// is counted in UTC.
	Cron string
	// Zone is the time zone of Cron by its name in the IANA database, such as Europe/Oslo.
	// Defaults to UTC. A program on a system without that database imports time/tzdata.
	Zone string
	// Misfire says what becomes of fires that nobody could make in time. Defaults to
	// [MisfireOnce].
	Misfire Misfire
	// Overlap says what becomes of a fire while the last task of the schedule has not ended. Defaults to
	// [OverlapSkip], and with [MisfireAll] to [OverlapAllow], which alone goes with it.
	Overlap Overlap
}

// Overlap is the policy for a fire while the last task of the schedule has not ended: it waits, executes, or is
// paused. [Operator.TriggerSchedule] is bound by it too: without OverlapAllow its task waits until then.
type Overlap string

// The policies.
const (
	OverlapSkip   Overlap = "skip"   // the fire has no task
	OverlapBuffer Overlap = "buffer" // the first such fire has its task once the last one has ended; later ones have none
	OverlapAllow  Overlap = "allow"  // a task at once
)

// Misfire is the policy for fires that are more than a minute late: no worker was alive
// that knows the kind, or the schedule was paused.
type Misfire string

// The policies.
const (
	MisfireOnce   Misfire = "once"   // one task for the latest that was missed, unless a later one is on time
	MisfireAll    Misfire = "all"    // a task for each
	MisfireForget Misfire = "forget" // none
)

// SetSchedule makes or changes the schedule of a name, which submits tasks of a kind with
// this spec: a program calls it whenever it starts. It changes nothing if nothing is different.
// Whether the schedule is paused stays as it is, and so does its next fire, unless Cron or Zone
// are different. Workers that know the kind submit the tasks, each wall time once; see
// docs/schedules.md for clock changes.
//
// The owner of the tasks is [taskkit.SystemOwner], unless [taskkit.OwnedBy] names another. Other options may be
// [taskkit.RunAs], [taskkit.WithQueue], [taskkit.WithPriority], [taskkit.WithLimit], [taskkit.WithTimeLimit], [taskkit.WithWindow], [taskkit.WithRetention],
// [taskkit.WithSchema] and [taskkit.WithActor], who makes the change; and [taskkit.WithUniqueKey]: while another task has the
// key, fires are skipped. Any other is a *[taskkit.OptionError]. A
// schedule that cannot be is a *[ScheduleError], and a spec that is refused a *[taskkit.SpecError].
func SetSchedule[Spec, State, Result any](ctx context.Context, db taskkit.ExecQuerier, k *taskkit.Kind[Spec, State, Result], name string, spec Spec, s Schedule, opts ...taskkit.SubmitOption) error {
	task, err := access.TaskOf(k, spec, opts)
	options, broken := task.Options.Encode()
	clock, wrong := s.check(name)
	if err := errors.Join(wrong, err, broken); err != nil {
		return err
	}
	o := New(taskkit.NewClient(db, taskkit.WithSchema(cmp.Or(task.Schema, taskkit.DefaultSchema))))
	op, err := o.store(ctx)
	if err != nil {
		return err
	}
	set := func(row *store.Schedule) {
		row.Kind, row.Spec, row.Revision, row.Secrets = task.Kind, task.Spec, task.Revision, &task.Secrets
		row.Queue, row.Priority, row.Owner, row.RunAs, row.Options = task.Queue, task.Priority, task.Owner, task.RunAs, options
	}
	_, err = op.ChangeSchedule(ctx, name, s.change(clock, task.Actor, set))
	return o.public(ctx, err)
}

// change returns what sets a row, and computes the next fire if it has changed.
func (s *Schedule) change(clock cronline.Clock, actor uuid.UUID, set func(row *store.Schedule)) func(now time.Time, row *store.Schedule) error {
	return func(now time.Time, row *store.Schedule) error {
		before := *row
		set(row)
		row.Cron, row.Zone, row.Misfire, row.Overlap = s.Cron, s.Zone, string(s.Misfire), string(s.Overlap)
		if bytes.Equal(row.Spec, before.Spec) {
			row.Spec = before.Spec
		}
		if row.Cron != before.Cron || row.Zone != before.Zone {
			next, ok := clock.First(now)
			if !ok {
				return &ScheduleError{row.Name, "Cron", fmt.Sprintf("%q never fires", row.Cron)}
			}
			if !before.NextAt.IsZero() && !before.NextAt.After(now) {
				row.AddOverdue(store.Overdue{Cron: before.Cron, Zone: before.Zone, Wall: before.NextWall, Until: now})
			}
			row.NextAt, row.NextWall = next.At, next.Wall.Format(cronline.Format)
		}
		if !sameSchedule(&before, row) {
			row.ModifiedBy = cmp.Or(actor, taskkit.SystemOwner)
			row.LastError, row.LastErrorAt = "", time.Time{} // what it said may be mended
		}
		if was, is := definition(&before), definition(row); before.Version != 0 && is != was {
			if row.Alternations++; is != before.Replaced {
				row.Alternations = 0
			}
			row.Replaced = was
		}
		return nil
	}
}

// sameSchedule reports whether two rows submit the same tasks at the same times.
func sameSchedule(a, b *store.Schedule) bool {
	secrets := func(s *store.Schedule) string {
		if s.Secrets == nil {
			return "unknown"
		}
		return "=" + *s.Secrets
	}
	return a.Version == b.Version && a.Kind == b.Kind && bytes.Equal(a.Spec, b.Spec) && a.Revision == b.Revision && secrets(a) == secrets(b) &&
		a.Cron == b.Cron && a.Zone == b.Zone && a.Queue == b.Queue && a.Priority == b.Priority && a.Owner == b.Owner && a.RunAs == b.RunAs &&
		a.Misfire == b.Misfire && a.Overlap == b.Overlap && a.Options == b.Options && a.NextWall == b.NextWall && a.Version != 0
}

// definition returns a hash of what [SetSchedule] sets.
func definition(s *store.Schedule) string {
	h := sha256.New()
	for _, part := range []any{s.Kind, string(s.Spec), s.Revision, s.Cron, s.Zone, s.Queue, s.Priority, s.Owner, s.RunAs, s.Misfire, s.Overlap, s.Options} {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// check fills in the defaults, and returns the clock of the schedule of a name.
func (s *Schedule) check(name string) (cronline.Clock, error) {
	s.Zone, s.Misfire = cmp.Or(s.Zone, "UTC"), cmp.Or(s.Misfire, MisfireOnce)
	if err := checkScheduleName(name); err != nil {
		return cronline.Clock{}, err
	}
	if !cronline.Misfire(s.Misfire).Valid() {
		return cronline.Clock{}, &ScheduleError{name, "Misfire", fmt.Sprintf("%q is no policy: use once, all or forget", shorten(string(s.Misfire)))}
	}
	if s.Overlap == "" {
		if s.Overlap = OverlapSkip; s.Misfire == MisfireAll {
			s.Overlap = OverlapAllow
		}
	}
	switch s.Overlap {
	case OverlapSkip, OverlapBuffer:
		if s.Misfire == MisfireAll {
			return cronline.Clock{}, &ScheduleError{name, "Overlap", fmt.Sprintf("%s does not go with the misfire policy all, by which tasks for several wall times are submitted at once: use allow", s.Overlap)}
		}
	case OverlapAllow:
	default:
		return cronline.Clock{}, &ScheduleError{name, "Overlap", fmt.Sprintf("%q is no policy: use skip, buffer or allow", shorten(string(s.Overlap)))}
	}
	c, err := readClock(s.Cron, s.Zone, name)
	if err != nil {
		return c, err
	}
	if _, ok := c.Line.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); !ok {
		return c, &ScheduleError{name, "Cron", fmt.Sprintf("%q never fires: no year has such a day", s.Cron)}
	}
	return c, nil
}

func checkScheduleName(name string) error {
	if !lifecycle.ValidQueue(name) {
		return &ScheduleError{shorten(name), "Name", "not a valid name of a schedule: use " + lifecycle.QueueRule}
	}
	return nil
}

// readClock reads a cron expression, which may be one that never fires, and a zone.
func readClock(cron, zone, name string) (c cronline.Clock, err error) {
	shown := shorten(name)
	if c.Line, err = cronline.Parse(cron, name); err != nil {
		if syntax, ok := errors.AsType[*cronline.SyntaxError](err); ok {
			return c, &ScheduleError{shown, "Cron", fmt.Sprintf("%q: %s", syntax.Expr, syntax.Problem)}
		}
		return c, err
	}
	if c.Zone, err = cronline.LoadZone(zone); err != nil {
		return c, &ScheduleError{shown, "Zone", err.Error()}
	}
	if c.Line.Interval() > 0 && c.Zone.String() != "UTC" {
		return c, &ScheduleError{shown, "Zone", fmt.Sprintf("%s is given with an interval, which is counted in UTC: use the zone UTC", shorten(zone))}
	}
	return c, nil
}

// Fire is one fire of a schedule.
type Fire struct {
	At time.Time `json:"at"`
	// Wall is the wall time in the zone of the schedule, such as 2026-03-29 02:30.
	Wall string `json:"wall"`
}

// NextFires returns the first n fires of a schedule after a time, at most 1,000. None means that
// it never fires. The name decides for what H stands. An expression or a zone that cannot be
// read is a *[ScheduleError].
func NextFires(cron, zone, name string, from time.Time, n int) ([]Fire, error) {
	c, err := readClock(cron, zone, name)
	if err != nil {
		return nil, err
	}
	var fires []Fire
	f, ok := c.First(from)
	for ; ok && len(fires) < min(n, 1000); f, ok = c.After(f.Wall) {
		fires = append(fires, Fire{f.At, f.Wall.Format(cronline.Format)})
	}
	return fires, nil
}
