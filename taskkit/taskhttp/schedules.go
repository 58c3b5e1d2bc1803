package taskhttp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/errtree"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskops"
)

// Schedule is a schedule as operators may see it. Times are by the database's clock.
type Schedule struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Spec has its secrets masked. It is missing while they are not known, which is until
	// the first fire of a schedule that was set without its kind.
	Spec     json.RawMessage  `json:"spec,omitempty"`
	Cron     string           `json:"cron"`
	Zone     string           `json:"zone"`
	Misfire  taskops.Misfire  `json:"misfire"`
	Overlap  taskops.Overlap  `json:"overlap"`
	Queue    string           `json:"queue,omitempty"` // missing: the queue of the kind
	Priority taskkit.Priority `json:"priority"`
	Owner    uuid.UUID        `json:"owner"`
	RunAs    uuid.UUID        `json:"runAs"`
	// Further options of its jobs.
	UniqueKey   string         `json:"uniqueKey,omitempty"`
	Limits      map[string]int `json:"limits,omitempty"`      // by key
	TimeLimitMS int64          `json:"timeLimitMs,omitempty"` // missing: none
	Window      string         `json:"window,omitempty"`

	Paused       bool      `json:"paused"`
	PausedBy     uuid.UUID `json:"pausedBy,omitzero"`
	PausedReason string    `json:"pausedReason,omitempty"`
	Triggered    bool      `json:"triggered"` // a worker is still to start the job of a trigger

	Next   *Fire  `json:"next,omitempty"`   // missing: it never fires again
	LateMS int64  `json:"lateMs,omitempty"` // how long next has been due; a paused schedule is not late
	Fires  []Fire `json:"fires,omitempty"`  // the next five; not in lists
	// Buffered is the wall time, with its zone, whose job waits for the end of the last one.
	Buffered string `json:"buffered,omitempty"`

	LastFiredAt *time.Time `json:"lastFiredAt,omitempty"`
	LastWall    string     `json:"lastWall,omitempty"` // missing: it was triggered
	LastJob     taskkit.ID `json:"lastJob,omitzero"`
	LastError   string     `json:"lastError,omitempty"` // why it could not start its last job
	LastErrorAt *time.Time `json:"lastErrorAt,omitempty"`

	CreatedAt  time.Time `json:"createdAt"`
	CreatedBy  uuid.UUID `json:"createdBy"`
	ModifiedAt time.Time `json:"modifiedAt"` // by a person or a program, not by a fire
	ModifiedBy uuid.UUID `json:"modifiedBy"`
}

// Fire is one fire of a schedule: an instant, and the wall time in its zone.
type Fire struct {
	At   time.Time `json:"at"`
	Wall string    `json:"wall"`
}

// SchedulePage is a page of the schedules, by name.
type SchedulePage struct {
	Schedules []*Schedule `json:"schedules"`
	// Next is the cursor of the next page; "": there is none.
	Next string `json:"next,omitempty"`
}

// scheduleOf makes the answer about a schedule.
func scheduleOf(s *taskops.ScheduleInfo) *Schedule {
	out := &Schedule{
		Name: s.Name, Kind: s.Kind, Spec: s.SpecJSON, Cron: s.Cron, Zone: s.Zone, Misfire: s.Misfire, Overlap: s.Overlap,
		UniqueKey: s.UniqueKey, Limits: s.Limits, TimeLimitMS: s.TimeLimit.Milliseconds(), Window: s.Window, Buffered: s.Buffered,
		Queue: s.Queue, Priority: s.Priority, Owner: s.Owner, RunAs: s.RunAs,
		LateMS: s.Late.Milliseconds(), Paused: s.Paused, PausedBy: s.PausedBy, PausedReason: s.PausedReason, Triggered: s.Triggered,
		LastFiredAt: utc(s.LastFired), LastWall: s.LastWall, LastJob: s.LastTask, LastError: s.LastError, LastErrorAt: utc(s.LastErrorAt),
		CreatedAt: s.Created.UTC(), CreatedBy: s.CreatedBy, ModifiedAt: s.Modified.UTC(), ModifiedBy: s.ModifiedBy,
	}
	if s.Next != nil {
		out.Next = &Fire{s.Next.At.UTC(), s.Next.Wall}
	}
	for _, f := range s.Fires {
		out.Fires = append(out.Fires, Fire{f.At.UTC(), f.Wall})
	}
	return out
}

// nameForm matches the name of a schedule or of a queue.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// listSchedules sends a page of the schedules.
func (s *Server) listSchedules(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := q.size()
	if err != nil {
		return err
	}
	after, given := q["cursor"]
	if given && !nameForm.MatchString(after) {
		return ErrBadParameter.because("cursor must be the one of the page before")
	}
	found, err := s.ops.SchedulesAfter(r.Context(), after, limit)
	if err != nil {
		return err
	}
	page := SchedulePage{Schedules: []*Schedule{}}
	for _, one := range found {
		page.Schedules = append(page.Schedules, scheduleOf(one))
	}
	if len(found) == limit {
		page.Next = found[limit-1].Name
		s.nextPage(w, r, page.Next)
	}
	writeJSON(w, http.StatusOK, mediaJSON, page)
	return nil
}

// readSchedule sends a schedule, unless the client has it.
func (s *Server) readSchedule(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	found, err := s.ops.Schedule(r.Context(), r.PathValue("name"))
	if err != nil {
		return refusedSchedule(err)
	}
	body, err := json.Marshal(scheduleOf(found))
	if err != nil {
		return err
	}
	sendTagged(w, r, mediaJSON, digest(string(body)), append(body, '\n'))
	return nil
}

// meetsSchedule returns a problem unless a request's preconditions are met by the schedule.
func (s *Server) meetsSchedule(r *http.Request) error {
	if !hasPreconditions(r) {
		return nil
	}
	found, err := s.ops.Schedule(r.Context(), r.PathValue("name"))
	if errors.Is(err, taskops.ErrNoSchedule) {
		return meets(r, "")
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(scheduleOf(found))
	if err != nil {
		return err
	}
	return meets(r, digest(string(body)))
}

// scheduleBody is the body of a request that sets a schedule.
type scheduleBody struct {
	Kind        string             `json:"kind"`
	Spec        json.RawMessage    `json:"spec"`
	Cron        string             `json:"cron"`
	Zone        string             `json:"zone"`
	Misfire     string             `json:"misfire"`
	Overlap     string             `json:"overlap"`
	Queue       *string            `json:"queue"`
	Priority    setting            `json:"priority"`
	Owner       *uuid.UUID         `json:"owner"`
	RunAs       *uuid.UUID         `json:"runAs"`
	UniqueKey   *string            `json:"uniqueKey"`
	Limits      map[string]setting `json:"limits"`
	TimeLimitMS setting            `json:"timeLimitMs"`
	Window      *string            `json:"window"`
}

// options returns what the body says of the jobs of the schedule.
func (b *scheduleBody) options() (opts []taskkit.SubmitOption) {
	if b.Queue != nil {
		opts = append(opts, taskkit.WithQueue(*b.Queue))
	}
	if b.Priority.given {
		opts = append(opts, taskkit.WithPriority(taskkit.Priority(b.Priority.value)))
	}
	if b.Owner != nil {
		opts = append(opts, taskkit.OwnedBy(*b.Owner))
	}
	if b.RunAs != nil {
		opts = append(opts, taskkit.RunAs(*b.RunAs))
	}
	if b.UniqueKey != nil {
		opts = append(opts, taskkit.WithUniqueKey(*b.UniqueKey))
	}
	for _, key := range slices.Sorted(maps.Keys(b.Limits)) {
		opts = append(opts, taskkit.WithLimit(key, int(b.Limits[key].value)))
	}
	if b.TimeLimitMS.given {
		opts = append(opts, taskkit.WithTimeLimit(time.Duration(min(max(b.TimeLimitMS.value, 0), timeLimitMost))*time.Millisecond))
	}
	if b.Window != nil {
		opts = append(opts, taskkit.WithWindow(*b.Window))
	}
	return opts
}

// timeLimitMost is the longest time limit in milliseconds.
const timeLimitMost = int64(math.MaxInt64 / time.Millisecond)

// scheduleCodec names no place within a field of a spec: the server may not have the kind, and
// so not know which fields are secret.
var scheduleCodec = taskjson.Reflected[scheduleBody]().Hiding(taskjson.Below(2))

// setSchedule makes or changes a schedule. What the body leaves out stays as it is.
func (s *Server) setSchedule(w http.ResponseWriter, r *http.Request, who Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	raw, err := s.body(w, r, false, scheduleCodec.Check)
	if err != nil {
		return err
	}
	var b scheduleBody
	if err := scheduleCodec.Decode(raw, &b); err != nil {
		return refusedJSON(ErrNotJSON, err)
	}
	opts := append(b.options(), taskkit.WithActor(who.Owner))
	if err := s.meetsSchedule(r); err != nil {
		return err
	}
	clock := taskops.Schedule{Cron: b.Cron, Zone: b.Zone, Misfire: taskops.Misfire(b.Misfire), Overlap: taskops.Overlap(b.Overlap)}
	set, err := s.ops.SetSchedule(r.Context(), r.PathValue("name"), b.Kind, b.Spec, clock, opts...)
	if err != nil {
		return refusedSchedule(err)
	}
	writeJSON(w, http.StatusOK, mediaJSON, scheduleOf(set))
	return nil
}

// scheduleChange is a request that changes a schedule.
type scheduleChange struct {
	name, summary string
	status        int // of its answer
	call          func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) (*taskops.ScheduleInfo, error)
}

var scheduleChanges = []scheduleChange{
	{"pause", "Keep a schedule from starting jobs", http.StatusOK, (*taskops.Operator).PauseSchedule},
	{"resume", "Let a paused schedule go on", http.StatusOK, (*taskops.Operator).ResumeSchedule},
	{"trigger", "Let a worker start a job of a schedule once, beside its fires", http.StatusAccepted, (*taskops.Operator).TriggerSchedule},
}

// changeSchedule returns the handler of a request that changes a schedule.
func (s *Server) changeSchedule(c scheduleChange) handler {
	return func(w http.ResponseWriter, r *http.Request, who Caller) error {
		if _, err := query(r); err != nil {
			return err
		}
		opts, err := s.requestOptions(w, r, who)
		if err != nil {
			return err
		}
		if err := s.meetsSchedule(r); err != nil {
			return err
		}
		changed, err := c.call(s.ops, r.Context(), r.PathValue("name"), opts...)
		if err != nil {
			return refusedSchedule(err)
		}
		writeJSON(w, c.status, mediaJSON, scheduleOf(changed))
		return nil
	}
}

// deleteSchedule removes a schedule. Its jobs stay.
func (s *Server) deleteSchedule(w http.ResponseWriter, r *http.Request, who Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := s.meetsSchedule(r); err != nil {
		return err
	}
	if err := s.ops.DeleteSchedule(r.Context(), r.PathValue("name"), taskkit.WithActor(who.Owner)); err != nil {
		return refusedSchedule(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// scheduleOptions are the pointers to what became an option of a schedule.
var scheduleOptions = map[string]string{
	"WithQueue": "/queue", "WithPriority": "/priority", "OwnedBy": "/owner", "RunAs": "/runAs",
	"WithUniqueKey": "/uniqueKey", "WithLimit": "/limits", "WithTimeLimit": "/timeLimitMs", "WithWindow": "/window",
}

// refusedSchedule says why a schedule was refused.
func refusedSchedule(err error) error {
	if errors.Is(err, taskops.ErrNoSchedule) {
		return ErrNoSuchSchedule
	}
	out := *ErrSchedule
	if refused, ok := errors.AsType[*taskops.ScheduleError](err); ok {
		if refused.Field == "Name" { // which is not in the body
			return ErrSchedule.because("%s", refused.Problem)
		}
		out.Errors = append(out.Errors, FieldProblem{"/" + strings.ToLower(refused.Field), refused.Problem})
	}
	for _, refused := range errtree.All[*taskkit.OptionError](err) {
		pointer, ok := scheduleOptions[refused.Option]
		if !ok {
			return err
		}
		detail := refused.Problem
		if pointer == "/owner" || pointer == "/runAs" {
			detail = "the zero UUID names nobody"
		}
		out.Errors = append(out.Errors, FieldProblem{pointer, detail})
	}
	if out.Errors == nil {
		return err
	}
	return &out
}
