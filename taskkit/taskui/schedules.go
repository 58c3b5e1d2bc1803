package taskui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

const (
	schedulesOfPage = 50
	shownFires      = 5
)

// schedulesView is the data of the page Schedules.
type schedulesView struct {
	Schedules []scheduleView
	Next      string
}

type scheduleView struct {
	*taskops.ScheduleInfo

	Fires     []fire
	Last      *taskkit.Task // its last task, if it is there and the person may see it
	LastClass string        // of its status
	Note      string        // who has paused it; "": it is not paused
	Troubles  []string      // what is wrong with it
	Options   string        // of its tasks
	Spec      string        // as indented JSON; "": not known yet
	KindPath  string        // of the tasks of its kind
	Forms     []operatorForm
}

// fire is a fire, with the time until it.
type fire struct {
	taskops.Fire

	In string
}

const (
	pauseSchedule   = "schedules/pause"
	resumeSchedule  = "schedules/resume"
	triggerSchedule = "schedules/trigger"
	deleteSchedule  = "schedules/delete"
)

// scheduleActions are the actions of the page.
func scheduleActions() []action {
	const op, to = taskhttp.OpChangeSchedules, "schedules"
	return []action{
		{path: pauseSchedule, op: op, do: changing("schedule", to, "schedule-paused", quietly((*taskops.Operator).PauseSchedule))},
		{path: resumeSchedule, op: op, do: changing("schedule", to, "schedule-resumed", quietly((*taskops.Operator).ResumeSchedule))},
		{path: triggerSchedule, op: op, do: changing("schedule", to, "schedule-triggered", quietly((*taskops.Operator).TriggerSchedule))},
		{path: deleteSchedule, op: op, destroys: true, do: changing("schedule", to, "schedule-deleted", (*taskops.Operator).DeleteSchedule)},
	}
}

// quietly returns a change of a schedule without what it returns besides an error.
func quietly(call func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) (*taskops.ScheduleInfo, error)) func(*taskops.Operator, context.Context, string, ...taskkit.RequestOption) error {
	return func(o *taskops.Operator, ctx context.Context, name string, opts ...taskkit.RequestOption) error {
		_, err := call(o, ctx, name, opts...)
		return err
	}
}

// schedules reads the page Schedules.
func schedules(r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	found, err := r.d.ops.SchedulesAfter(r.Context(), after, schedulesOfPage+1)
	if err != nil {
		return nil, err
	}
	v, may := &schedulesView{}, r.mayOperate(r.Context(), taskhttp.OpChangeSchedules)
	if len(found) > schedulesOfPage {
		found = found[:schedulesOfPage]
		v.Next = nextPath("schedules", found[schedulesOfPage-1].Name)
	}
	last, err := r.lastTasks(found)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		v.Schedules = append(v.Schedules, r.newScheduleView(s, last[s.LastTask], may))
	}
	return v, nil
}

// lastTasks reads the last tasks of schedules.
func (r *request) lastTasks(all []*taskops.ScheduleInfo) (map[taskkit.ID]*taskkit.Task, error) {
	var ids []taskkit.ID
	for _, s := range all {
		if s.LastTask != uuid.Nil {
			ids = append(ids, s.LastTask)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	tasks, _, err := r.tasks(r.Context(), taskkit.Filter{IDs: ids, Limit: schedulesOfPage})
	if err != nil {
		return nil, err
	}
	found := map[taskkit.ID]*taskkit.Task{}
	for _, t := range tasks {
		found[t.ID] = t
	}
	return found, nil
}

func (r *request) newScheduleView(s *taskops.ScheduleInfo, last *taskkit.Task, may bool) scheduleView {
	v := scheduleView{ScheduleInfo: s, Last: last, KindPath: listPath("kind:" + s.Kind), Options: scheduleOptions(s)}
	if last != nil {
		v.LastClass = statusClass(last)
	}
	fires, err := taskops.NextFires(s.Cron, s.Zone, s.Name, time.Now(), shownFires)
	for _, f := range fires {
		v.Fires = append(v.Fires, fire{f, duration(time.Until(f.At))})
	}
	if s.Paused {
		v.Note = "Paused"
		if s.PausedBy != uuid.Nil {
			v.Note += " by " + r.personName(s.PausedBy)
		}
		if s.PausedReason != "" {
			v.Note += ": " + clean(s.PausedReason)
		}
	}
	if s.Next == nil && err == nil {
		v.Troubles = append(v.Troubles, "It never fires again.")
	}
	if err != nil {
		v.Troubles = append(v.Troubles, "Its next fires are not known here: "+plain(err))
	}
	if s.Late > time.Minute {
		v.Troubles = append(v.Troubles, "Its fire has been due for "+duration(s.Late)+": no live worker makes it.")
	}
	if s.LastError != "" && r.operator() {
		at := ""
		if s.LastErrorAt != nil {
			at = " " + ago(*s.LastErrorAt)
		}
		v.Troubles = append(v.Troubles, "It could not submit its task"+at+": "+clean(s.LastError))
	}
	if s.Alternations > 1 {
		v.Troubles = append(v.Troubles, "Two programs set it to different definitions in turn.")
	}
	var spec bytes.Buffer
	if json.Indent(&spec, s.SpecJSON, "", "  ") == nil {
		v.Spec = clean(spec.String())
	}
	if may {
		v.Forms = scheduleForms(s)
	}
	return v
}

// scheduleForms returns the forms of what can be changed of a schedule.
func scheduleForms(s *taskops.ScheduleInfo) []operatorForm {
	name := hidden("schedule", s.Name)
	forms := []operatorForm{newForm(pauseSchedule, "Pause", "It submits no task until it is resumed.", name)}
	if s.Paused {
		forms[0] = newForm(resumeSchedule, "Resume", "It fires again. What it has missed meanwhile is made up for as its policy says: "+string(s.Misfire)+".", name)
	}
	if !s.Triggered {
		forms = append(forms, newForm(triggerSchedule, "Run now", "A worker submits one task of it within seconds, beside its fires.", name))
	}
	return append(forms, newForm(deleteSchedule, "Delete", "The schedule is removed. The tasks that it has submitted stay.", name).destroying())
}

// scheduleOptions returns the options of the tasks of a schedule in words.
func scheduleOptions(s *taskops.ScheduleInfo) string {
	parts := []string{"late fires: " + string(s.Misfire), "overlap: " + string(s.Overlap)}
	if s.Queue != "" {
		parts = append(parts, "queue "+s.Queue)
	}
	if s.UniqueKey != "" {
		parts = append(parts, "unique key "+s.UniqueKey)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Limits)) {
		parts = append(parts, fmt.Sprintf("limit %s: %d", key, s.Limits[key]))
	}
	if s.TimeLimit > 0 {
		parts = append(parts, "time limit "+duration(s.TimeLimit))
	}
	if s.Window != "" {
		parts = append(parts, "window "+s.Window)
	}
	return clean(strings.Join(parts, "; "))
}
