package taskui

import (
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

const queuesOfPage = 100

// queuesView is the data of the page Queues.
type queuesView struct {
	Queues []queueView
	Next   string
	New    *operatorForm // to pause a queue that is not in the list; nil: the person may not
}

type queueView struct {
	taskops.QueueInfo

	Path         string // of its waiting tasks
	Waits, Dues  string // how many tasks wait, and are due
	Oldest       string // how long the oldest due task has waited
	Slots, Busy  int    // of the live workers that serve it, which other queues share
	Changed      string // who has paused or resumed it last, and why
	Form         *operatorForm
	Unserved     bool // tasks are due, and no worker serves it
	UnknownKinds []string
}

const (
	pauseQueue  = "queues/pause"
	resumeQueue = "queues/resume"
)

var (
	textPause  = "No worker claims a task of this queue until it is resumed. Tasks that run go on until they end or come back to the queue."
	textResume = "Workers claim tasks of this queue again."
)

// queueActions are the actions of the page.
func queueActions() []action {
	return []action{
		{path: pauseQueue, op: taskhttp.OpChangeQueues, do: changing("queue", "queues", "queue-paused", (*taskops.Operator).PauseQueue)},
		{path: resumeQueue, op: taskhttp.OpChangeQueues, do: changing("queue", "queues", "queue-resumed", (*taskops.Operator).ResumeQueue)},
	}
}

// queues reads the page Queues.
func queues(r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	found, err := r.d.ops.Queues(r.Context())
	if err != nil {
		return nil, err
	}
	workers, err := r.d.ops.Workers(r.Context())
	if err != nil {
		return nil, err
	}
	v, may := &queuesView{}, r.mayOperate(r.Context(), taskhttp.OpChangeQueues)
	found = slices.DeleteFunc(found, func(q taskops.QueueInfo) bool { return q.Name <= after })
	if len(found) > queuesOfPage {
		found = found[:queuesOfPage]
		v.Next = nextPath("queues", found[queuesOfPage-1].Name)
	}
	for _, q := range found {
		v.Queues = append(v.Queues, r.newQueueView(q, workers, may))
	}
	if may {
		form := newForm(pauseQueue, "Pause another queue", textPause).with(field{Name: "queue", Label: "Queue", Help: "It needs no task and no worker."})
		v.New = &form
	}
	return v, nil
}

func (r *request) newQueueView(q taskops.QueueInfo, workers []taskops.WorkerInfo, may bool) queueView {
	v := queueView{
		QueueInfo: q, Path: listPath("queue:" + q.Name + " status:queued"), Waits: atLeast(q.Waiting, !q.MoreWaiting), Dues: atLeast(q.Due, !q.MoreDue),
		Unserved: q.Due > 0 && q.Workers == 0,
	}
	for _, w := range workers {
		if w.Alive && slices.Contains(w.Queues, q.Name) {
			v.Slots, v.Busy = v.Slots+w.Slots, v.Busy+w.Busy
		}
	}
	if q.OldestDue != nil {
		v.Oldest = duration(q.OldestWait)
	}
	switch {
	case q.Paused && q.PausedDate != nil:
		v.Changed = r.byWhom("paused", q.PausedBy, *q.PausedDate, q.PausedReason)
	case q.ResumedDate != nil:
		v.Changed = r.byWhom("resumed", q.ResumedBy, *q.ResumedDate, q.ResumedReason)
	}
	for _, k := range q.UnknownKinds {
		v.UnknownKinds = append(v.UnknownKinds, fmt.Sprintf("%s (revision %d, since %s)", clean(k.Kind), k.Revision, strings.TrimSuffix(ago(k.Since), " ago")))
	}
	if may {
		form := newForm(pauseQueue, "Pause", textPause, hidden("queue", q.Name))
		if q.Paused {
			form = newForm(resumeQueue, "Resume", textResume, hidden("queue", q.Name))
		}
		v.Form = &form
	}
	return v
}
