package taskui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

const (
	workersOfPage = 100
	tasksInFlight = 1000 // are read
	tasksOfWorker = 5    // are listed
)

// workersView is the data of the page Workers.
type workersView struct {
	Figures []figure
	Builds  []build // more than one: the workers differ
	Workers []workerView
	Next    string
	// Truncated: more tasks are in flight than were read, and a worker may have more than the page says.
	Truncated bool
}

// build is a version with the number of live workers that have it.
type build struct {
	Version string
	Workers int
}

// OpEndWorker is the operation that ends a worker by Config.EndWorker. It is of operators: a person with the level [Operate] needs it in Person.Operations.
const OpEndWorker taskhttp.Operation = "end-worker"

const endWorker = "workers/end"

// workerActions are the actions of the page.
func workerActions() []action {
	return []action{{path: endWorker, op: OpEndWorker, do: func(r *request, _ string) (string, string, error) {
		worker, err := r.named("worker")
		if err != nil {
			return "", "", err
		}
		if r.d.config.EndWorker == nil {
			return "", "", errNoPage
		}
		found, err := r.d.ops.Workers(r.Context())
		if err != nil {
			return "", "", err
		}
		if !slices.ContainsFunc(found, func(w taskops.WorkerInfo) bool { return w.ID == worker && w.Ended == nil }) {
			return "", "", errNoWorker
		}
		if err := r.d.config.EndWorker(r.Context(), worker); err != nil {
			return "", "", &problem{status: http.StatusConflict, title: "The worker was not ended", detail: clean(err.Error()), remedy: "Read the page Workers again."}
		}
		return "workers", "worker-ended", nil
	}}}
}

// errNoWorker refuses to end what is no worker, or has ended: the application may make a command of the id.
var errNoWorker = &problem{
	status: http.StatusConflict, title: "There is no such worker", detail: "It has ended since the page was opened, or never was.", remedy: "Read the page Workers again.",
}

type workerView struct {
	taskops.WorkerInfo

	Status, Class string
	Note          string // what is wrong with it; "": nothing
	Lost          bool   // it has ended without leaving, and tasks are still its own
	Kinds         []string
	Queues        []string
	Tasks         []*taskkit.Task
	More          int // tasks besides these
	Form          *operatorForm
}

// workers reads the page Workers.
func workers(r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	found, err := r.d.ops.Workers(r.Context())
	if err != nil {
		return nil, err
	}
	v := &workersView{}
	var alive, slots, busy, dead int
	builds := map[string]int{}
	for _, w := range found {
		switch {
		case w.Alive:
			alive, slots, busy = alive+1, slots+w.Slots, busy+w.Busy
			builds[w.Version]++
		case w.EndReason != endedLeft:
			dead++
		}
	}
	v.Figures = []figure{
		{Value: count(int64(alive)), Text: "live workers"},
		{Value: fmt.Sprintf("%s of %s", count(int64(busy)), count(int64(slots))), Text: "slots busy"},
		{Value: count(int64(dead)), Text: "lost within the last hour"},
	}
	for _, version := range slices.Sorted(maps.Keys(builds)) {
		v.Builds = append(v.Builds, build{clean(version), builds[version]})
	}
	slices.SortFunc(found, func(a, b taskops.WorkerInfo) int {
		return cmp.Or(cmp.Compare(workerRank(&a), workerRank(&b)), cmp.Compare(a.ID, b.ID))
	})
	if i := slices.IndexFunc(found, func(w taskops.WorkerInfo) bool { return w.ID == after }); i >= 0 {
		found = found[i+1:]
	}
	if len(found) > workersOfPage {
		found = found[:workersOfPage]
		v.Next = nextPath("workers", found[workersOfPage-1].ID)
	}
	running, truncated, err := r.inFlight(r.Context())
	if err != nil {
		return nil, err
	}
	v.Truncated = truncated
	may := r.d.config.EndWorker != nil && r.mayOperate(r.Context(), OpEndWorker)
	for _, w := range found {
		view := newWorkerView(w, running[w.ID])
		if may && w.Ended == nil {
			view.Form = new(newForm(endWorker, "End", "The process of this worker is ended. Another worker takes its tasks over and goes on where they were.", hidden("worker", w.ID)))
		}
		v.Workers = append(v.Workers, view)
	}
	return v, nil
}

// endedLeft is the reason with which a worker ends that was shut down.
const endedLeft = "left"

// workerRank orders workers: those with a problem first, then live ones, then ended ones.
func workerRank(w *taskops.WorkerInfo) int {
	switch {
	case w.Alive:
		return 1
	case w.EndReason == endedLeft:
		return 2
	default:
		return 0
	}
}

// inFlight returns the tasks that workers have, by worker.
func (r *request) inFlight(ctx context.Context) (byWorker map[string][]*taskkit.Task, truncated bool, err error) {
	tasks, next, err := r.tasks(ctx, taskkit.Filter{
		Statuses: []taskkit.Status{taskkit.StatusScheduling, taskkit.StatusExecuting}, Children: true, Limit: tasksInFlight,
	})
	if err != nil {
		return nil, false, err
	}
	byWorker = map[string][]*taskkit.Task{}
	for _, t := range tasks {
		byWorker[t.Worker] = append(byWorker[t.Worker], t)
	}
	return byWorker, next != taskkit.ID{}, nil
}

func newWorkerView(w taskops.WorkerInfo, tasks []*taskkit.Task) workerView {
	v := workerView{WorkerInfo: w, Tasks: tasks, Queues: w.Queues}
	if len(tasks) > tasksOfWorker {
		v.Tasks, v.More = tasks[:tasksOfWorker], len(tasks)-tasksOfWorker
	}
	for _, kind := range slices.Sorted(maps.Keys(w.Kinds)) {
		v.Kinds = append(v.Kinds, clean(kind)+" "+revisions(w.Kinds[kind]))
	}
	switch {
	case w.Ended != nil && w.EndReason == endedLeft:
		v.Status, v.Class = "shut down", "done"
	case w.Ended != nil:
		v.Status, v.Class, v.Lost = "lost", "failed", len(tasks) > 0
		v.Note = "It was declared dead: " + clean(w.EndReason) + "."
		if len(tasks) == 0 {
			v.Note += " Its tasks were taken over."
		}
	case !w.Alive:
		v.Status, v.Class, v.Lost = "silent", "failed", true
		v.Note = fmt.Sprintf("It has not been heard of for %s, and is dead after %s: another worker takes its tasks over.", duration(w.Silence), duration(w.DeadAfter))
	case w.SafeMode:
		v.Status, v.Class, v.Note = "safe mode", "paused", "It claims nothing, see Config.SafeMode."
	case w.Draining:
		v.Status, v.Class, v.Note = "shutting down", "paused", "It claims nothing more, and ends its batches."
	case w.Busy >= w.Slots && w.Slots > 0:
		v.Status, v.Class = "full", "running"
	default:
		v.Status, v.Class = "live", "running"
	}
	if w.Alive && !w.Present {
		v.Note = strings.TrimSpace(v.Note + " It holds no presence lock: others notice its loss only after " + duration(w.DeadAfter) + ".")
	}
	if w.FoundAlive != nil {
		v.Note = strings.TrimSpace(v.Note + " It was declared dead although it ran, " + ago(*w.FoundAlive) + ": nothing was done twice, but its tasks were taken over.")
	}
	return v
}

// revisions returns the revisions of a kind that a worker reads, the highest of which it writes.
func revisions(all []int) string {
	numbers := make([]string, len(all))
	for i, n := range slices.Sorted(slices.Values(all)) {
		numbers[i] = fmt.Sprint(n)
	}
	return "(" + strings.Join(numbers, ", ") + ")"
}
