package taskops

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// ScheduleInfo is a schedule as it is in the database.
type ScheduleInfo struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// SpecJSON has its secrets masked. It is nil while they are not known: a schedule
	// that was made without its kind, see [Operator.SetSchedule], has not fired yet.
	SpecJSON     json.RawMessage  `json:"spec,omitempty"`
	SpecRevision int              `json:"spec_revision"`
	Cron         string           `json:"cron"`
	Zone         string           `json:"zone"`
	Misfire      Misfire          `json:"misfire"`
	Overlap      Overlap          `json:"overlap"`
	Queue        string           `json:"queue,omitempty"` // empty: that of the kind
	Priority     taskkit.Priority `json:"priority"`
	Owner        uuid.UUID        `json:"owner"`
	RunAs        uuid.UUID        `json:"run_as"`
	UniqueKey    string           `json:"unique_key,omitempty"`
	Limits       map[string]int   `json:"limits,omitempty"`
	TimeLimit    time.Duration    `json:"time_limit,omitempty"`
	Retention    time.Duration    `json:"retention,omitempty"` // of the tasks, see taskkit.WithRetention
	Window       string           `json:"window,omitempty"`

	Paused       bool      `json:"paused"`
	PausedBy     uuid.UUID `json:"paused_by,omitzero"`
	PausedReason string    `json:"paused_reason,omitempty"`
	// Triggered: [Operator.TriggerSchedule] was called, and no worker has submitted the task yet.
	Triggered bool `json:"triggered"`

	// Next is the next fire; nil: it never fires again. A paused schedule has it too; it is
	// past if fires were missed.
	Next *Fire `json:"next,omitempty"`
	// Late is for how long Next has been due by the database's clock. A worker that executes the kind fires it within
	// seconds; a paused schedule is not late.
	Late time.Duration `json:"late,omitempty"`
	// Buffered is the wall time, with its zone, whose task waits for the end of the last one, see [OverlapBuffer].
	Buffered string `json:"buffered,omitempty"`
	// Overdue: fires were due when Cron or Zone changed, and no worker has made them yet.
	Overdue bool `json:"overdue,omitempty"`
	// Fires are the next five, from the present time on. Only [Operator.Schedule] reads them.
	Fires []Fire `json:"fires,omitempty"`

	LastFired   *time.Time `json:"last_fired,omitempty"`
	LastWall    string     `json:"last_wall,omitempty"` // empty: it was triggered
	LastTask    taskkit.ID `json:"last_task,omitzero"`
	LastError   string     `json:"last_error,omitempty"` // why it could not submit its last task; for operators only
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`

	// Alternations is how often in a row a change went back to the definition before the last change: more than once
	// means that two programs set the schedule to different definitions.
	Alternations int `json:"alternations,omitempty"`

	Version    int64     `json:"version"` // the number of changes and fires
	Created    time.Time `json:"created"`
	CreatedBy  uuid.UUID `json:"created_by"`
	Modified   time.Time `json:"modified"` // by a person or a program, not by a fire
	ModifiedBy uuid.UUID `json:"modified_by"`
}

// shownFires is how many fires of a schedule are shown.
const shownFires = 5

// schedulePage is how many schedules are read at once.
const schedulePage = 500

// Schedules returns all schedules, by name.
func (o *Operator) Schedules(ctx context.Context) ([]*ScheduleInfo, error) {
	all := []*ScheduleInfo{}
	for after := ""; ; {
		page, err := o.SchedulesAfter(ctx, after, schedulePage)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < schedulePage {
			return all, nil
		}
		after = page[len(page)-1].Name
	}
}

// SchedulesAfter returns a page of the schedules, by name: those after this name, at most so many,
// and never more than 1,000.
func (o *Operator) SchedulesAfter(ctx context.Context, after string, most int) ([]*ScheduleInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := op.ListSchedules(ctx, storable(after), min(max(most, 1), 1000))
	if err != nil {
		return nil, o.public(ctx, err)
	}
	page := make([]*ScheduleInfo, len(rows))
	for i := range rows {
		page[i] = scheduleInfo(&rows[i])
	}
	return page, nil
}

// Schedule reads one schedule, with its next five fires. It returns [ErrNoSchedule] when
// there is none.
func (o *Operator) Schedule(ctx context.Context, name string) (*ScheduleInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Schedule(ctx, storable(name))
	if err != nil {
		return nil, o.public(ctx, err)
	}
	return withFires(&found), nil
}

// withFires adds the next fires. Those that were missed are not among them.
func withFires(s *store.Schedule) *ScheduleInfo {
	info := scheduleInfo(s)
	// A zone that is not known here is no reason to show nothing.
	info.Fires, _ = NextFires(s.Cron, s.Zone, s.Name, time.Now(), shownFires)
	return info
}

// SetSchedule is the function [SetSchedule] for programs without the kind, such as a command
// line. The spec is not decoded: its revision is the latest that a live worker reads,
// and a worker that cannot decode it records the error with the schedule. Fields and options that are
// not given stay as they are in a schedule that exists, and so do an empty kind and a nil
// spec; a new schedule needs both, and Cron. [MisfireAll] without an Overlap sets [OverlapAllow], which alone goes with it.
func (o *Operator) SetSchedule(ctx context.Context, name, kind string, spec json.RawMessage, s Schedule, opts ...taskkit.SubmitOption) (*ScheduleInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	sub, err := access.SubmissionOf(opts)
	if sub.Schema != "" {
		err = errors.Join(err, &taskkit.OptionError{Option: "WithSchema", Problem: "it is an option of the client"})
	}
	if err := errors.Join(err, checkScheduled(name, kind, spec)); err != nil {
		return nil, err
	}
	var workers []store.Process
	if kind != "" || spec != nil {
		if workers, err = op.Processes(ctx, 0); err != nil {
			return nil, o.public(ctx, err)
		}
	}
	// What is not given stays. Both texts are of Encode.
	options := func(row *store.Schedule) string {
		o, _ := store.DecodeScheduleOptions(row.Options)
		o.UniqueKey, o.Window, o.TimeLimit = cmp.Or(sub.Options.UniqueKey, o.UniqueKey), cmp.Or(sub.Options.Window, o.Window), cmp.Or(sub.Options.TimeLimit, o.TimeLimit)
		o.Keep = cmp.Or(sub.Options.Keep, o.Keep)
		if len(sub.Options.Limits) > 0 {
			o.Limits = sub.Options.Limits
		}
		text, _ := o.Encode()
		return text
	}
	set := func(row *store.Schedule) {
		if of := cmp.Or(kind, row.Kind); of != row.Kind || spec != nil {
			row.Kind, row.Revision = of, cmp.Or(latestRevision(workers, of), row.Revision)
		}
		if spec != nil && !bytes.Equal(spec, row.Spec) {
			row.Spec, row.Secrets = spec, nil
		}
		row.Queue, row.Priority = cmp.Or(sub.Queue, row.Queue), cmp.Or(sub.Priority, row.Priority, int(taskkit.PriorityNormal))
		row.Owner = cmp.Or(sub.Owner, row.Owner, taskkit.SystemOwner)
		row.RunAs = cmp.Or(sub.RunAs, row.RunAs, row.Owner) // a new schedule runs as its owner
		row.Options = options(row)
	}
	changed, err := op.ChangeSchedule(ctx, name, func(now time.Time, row *store.Schedule) error {
		given := Schedule{cmp.Or(s.Cron, row.Cron), cmp.Or(s.Zone, row.Zone), cmp.Or(s.Misfire, Misfire(row.Misfire)), cmp.Or(s.Overlap, Overlap(row.Overlap))}
		if s.Misfire == MisfireAll && s.Overlap == "" {
			given.Overlap = OverlapAllow
		}
		clock, err := given.check(name)
		switch {
		case err != nil:
			return err
		case row.Version == 0 && (kind == "" || spec == nil):
			return &ScheduleError{name, "Kind", "a new schedule needs a kind and a spec"}
		case kind != "" && kind != row.Kind && latestRevision(workers, kind) == 0:
			return &ScheduleError{name, "Kind", fmt.Sprintf("no live worker knows the kind %s: start one, or check the name", kind)}
		}
		return given.change(clock, sub.Actor, set)(now, row)
	})
	if err != nil {
		return nil, o.public(ctx, err)
	}
	return withFires(&changed), nil
}

// checkScheduled checks what a program without the kind gives, before the name is compared with others.
func checkScheduled(name, kind string, spec json.RawMessage) error {
	if err := checkScheduleName(name); err != nil {
		return err
	}
	switch {
	case kind != "" && !lifecycle.ValidKind(kind):
		return &ScheduleError{shorten(name), "Kind", "not a valid name of a kind: use " + lifecycle.KindRule}
	case spec == nil:
		return nil
	}
	// Which fields are secret is not known here.
	anyJSON := taskjson.Reflected[json.RawMessage]().Hiding(taskjson.Below(1))
	if err := anyJSON.Decode(spec, new(json.RawMessage)); err != nil {
		return &ScheduleError{shorten(name), "Spec", "not storable as JSON: " + err.Error()}
	}
	if bytes.TrimLeft(spec, " \t\r\n")[0] != '{' {
		return &ScheduleError{shorten(name), "Spec", "not a JSON object"}
	}
	return nil
}

// latestRevision returns the latest revision of a kind that a live worker reads; 0: none
// knows the kind.
func latestRevision(workers []store.Process, kind string) (latest int) {
	for _, w := range workers {
		if r := w.Kinds[kind]; w.Alive() && len(r) > 0 {
			latest = max(latest, slices.Max(r))
		}
	}
	return latest
}

// PauseSchedule keeps a schedule from submitting tasks until [Operator.ResumeSchedule]. One that
// is paused already stays as it is.
func (o *Operator) PauseSchedule(ctx context.Context, name string, opts ...taskkit.RequestOption) (*ScheduleInfo, error) {
	return o.changeSchedule(ctx, name, opts, func(row *store.Schedule, r *store.Request) {
		if !row.Paused {
			row.Paused, row.PausedBy, row.PauseReason = true, r.Actor, r.Reason
		}
	})
}

// ResumeSchedule lets a paused schedule go on. What becomes of what it missed meanwhile is decided
// by its policy, see [Misfire].
func (o *Operator) ResumeSchedule(ctx context.Context, name string, opts ...taskkit.RequestOption) (*ScheduleInfo, error) {
	return o.changeSchedule(ctx, name, opts, func(row *store.Schedule, _ *store.Request) {
		row.Paused, row.PausedBy, row.PauseReason = false, uuid.Nil, ""
	})
}

// TriggerSchedule asks the workers to submit a task of a schedule once, beside its fires and
// also while it is paused. One that knows the kind does it within a few seconds, or once the last task has ended, see
// [Overlap]. A second call
// before that has no effect.
func (o *Operator) TriggerSchedule(ctx context.Context, name string, opts ...taskkit.RequestOption) (*ScheduleInfo, error) {
	return o.changeSchedule(ctx, name, opts, func(row *store.Schedule, r *store.Request) {
		if !row.Triggered {
			row.Triggered, row.TriggeredBy, row.TriggerReason = true, r.Actor, r.Reason
		}
	})
}

// DeleteSchedule removes a schedule. The tasks that it has submitted stay. It returns
// [ErrNoSchedule] when there is none. Of the options only [taskkit.WithActor] and [taskkit.WithReason] are allowed.
func (o *Operator) DeleteSchedule(ctx context.Context, name string, opts ...taskkit.RequestOption) error {
	op, err := o.store(ctx)
	if err != nil {
		return err
	}
	r, err := access.RequestOf(opts, "a schedule is deleted")
	if err != nil {
		return err
	}
	return o.public(ctx, op.DeleteSchedule(ctx, storable(name), r.Actor, r.Reason))
}

func (o *Operator) changeSchedule(ctx context.Context, name string, opts []taskkit.RequestOption, change func(*store.Schedule, *store.Request)) (*ScheduleInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	r, err := access.RequestOf(opts, "a schedule is changed")
	if err != nil {
		return nil, err
	}
	row, err := op.ChangeSchedule(ctx, storable(name), func(_ time.Time, row *store.Schedule) error {
		if row.Version == 0 {
			return store.ErrNoSchedule
		}
		before := *row
		if change(row, &r); row.Paused != before.Paused || row.Triggered != before.Triggered {
			row.ModifiedBy, row.ChangeReason = r.Actor, r.Reason
		}
		return nil
	})
	if err != nil {
		return nil, o.public(ctx, err)
	}
	return withFires(&row), nil
}

// storable returns a name that a database can compare with others. No schedule has one that it
// changes.
func storable(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(name, "?"), "\x00", "?")
}

// scheduleInfo converts a schedule and masks its secrets.
func scheduleInfo(s *store.Schedule) *ScheduleInfo {
	info := &ScheduleInfo{
		Name: s.Name, Kind: s.Kind, SpecRevision: s.Revision, Cron: s.Cron, Zone: s.Zone, Misfire: Misfire(s.Misfire), Overlap: Overlap(s.Overlap),
		Queue: s.Queue, Priority: taskkit.Priority(s.Priority), Owner: s.Owner, RunAs: s.RunAs,
		Paused: s.Paused, PausedBy: s.PausedBy, PausedReason: s.PauseReason, Triggered: s.Triggered,
		LastWall: s.LastWall, LastTask: s.LastTask, LastError: s.LastError,
		Late: s.Late, Buffered: s.Buffered, Overdue: len(s.Overdue) > 0, Alternations: s.Alternations,
		Version: s.Version, Created: s.Created, CreatedBy: s.CreatedBy, Modified: s.Modified, ModifiedBy: s.ModifiedBy,
	}
	if o, err := store.DecodeScheduleOptions(s.Options); err == nil {
		info.UniqueKey, info.TimeLimit, info.Window, info.Retention = o.UniqueKey, o.TimeLimit, o.Window, o.Keep
		for _, l := range o.Limits {
			if info.Limits == nil {
				info.Limits = make(map[string]int)
			}
			info.Limits[l.Key] = l.AtMost
		}
	}
	if s.Secrets != nil {
		info.SpecJSON = access.Mask(*s.Secrets, s.Spec)
	}
	if !s.NextAt.IsZero() {
		info.Next = &Fire{s.NextAt, s.NextWall}
	}
	if !s.LastAt.IsZero() {
		info.LastFired = &s.LastAt
	}
	if !s.LastErrorAt.IsZero() {
		info.LastErrorAt = &s.LastErrorAt
	}
	return info
}
