package taskdoctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

const (
	// queuesMost is of how many queues the waiting tasks are explained: of those whose tasks have been due for longest.
	queuesMost = 50
	// sampleMost is how many tasks of a queue are explained.
	sampleMost = 100
	// soon is within what time a task must be due to be explained: a throttled task is due again and again.
	soon = 2 * time.Minute
	// fullFor is for how long tasks of other kinds must have waited for slots.
	fullFor = time.Minute
)

// readQueues examines the queues, and explains the tasks that wait in them.
func readQueues(ctx context.Context, e *scope) (all []Finding, err error) {
	queues, err := e.Operator.Queues(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := e.Operator.Workers(ctx)
	if err != nil {
		return nil, err
	}
	flying, err := e.tables.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(queues, func(a, b taskops.QueueInfo) int { return cmp.Compare(b.OldestWait, a.OldestWait) })
	explained := 0
	for _, q := range queues {
		all = append(all, unknownKinds(q)...)
		switch {
		case q.Paused && q.Waiting > 0:
			all = append(all, found("queue_paused", fmt.Sprintf("Queue %s is paused%s, and %s in it.", q.Name, reason(q.PausedReason), waiting(q))).
				since(*q.PausedDate).of(q.Name).by("taskkit queues resume "+quote(q.Name)))
			continue
		case q.Waiting == 0 || explained == queuesMost:
			continue
		}
		explained++
		s, err := e.sample(ctx, q, live(workers), flying)
		if err != nil {
			return all, err
		}
		all = append(all, s.findings()...)
	}
	return all, nil
}

// reason returns a reason in parentheses.
func reason(text string) string {
	if text == "" {
		return ""
	}
	return " (" + oneLine(text) + ")"
}

// waiting says how many tasks wait in a queue.
func waiting(q taskops.QueueInfo) string {
	if q.MoreWaiting {
		return fmt.Sprintf("at least %d tasks wait", q.Waiting)
	}
	if q.Waiting == 1 {
		return "1 task waits"
	}
	return fmt.Sprintf("%d tasks wait", q.Waiting)
}

// unknownKinds finds kinds of due tasks that no worker of the queue executes.
func unknownKinds(q taskops.QueueInfo) (all []Finding) {
	for _, k := range q.UnknownKinds {
		all = append(all, found("unknown_kind", fmt.Sprintf("No live worker of queue %s executes revision %d of the kind %s, of which at least %s due.",
			q.Name, k.Revision, k.Kind, isAre(int(k.Tasks), "task"))).since(k.Since).of(k.Kind).by("taskkit ls --kind "+quote(k.Kind)+" --queue "+quote(q.Name)))
	}
	return all
}

// sample are the first waiting tasks of a queue, with what explains them.
type sample struct {
	queue   taskops.QueueInfo
	workers []taskops.WorkerInfo // live ones that serve it
	flying  []store.InFlight
	options Options
	tasks   []*taskkit.Task
	why     []*taskkit.Explanation
}

// sample reads and explains the first waiting tasks of a queue.
func (e *scope) sample(ctx context.Context, q taskops.QueueInfo, workers []taskops.WorkerInfo, flying []store.InFlight) (*sample, error) {
	s := &sample{queue: q, flying: flying, options: e.Options}
	for _, w := range workers {
		if slices.Contains(w.Queues, q.Name) {
			s.workers = append(s.workers, w)
		}
	}
	first, err := e.tables.OldestDue(ctx, q.Name, soon, sampleMost)
	if err != nil || len(first) == 0 {
		return s, err
	}
	s.tasks, _, err = e.Client.Tasks(ctx, taskkit.Filter{IDs: first, Limit: sampleMost})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.tasks, func(a, b *taskkit.Task) int { return a.NotBefore.Compare(b.NotBefore) })
	s.why, err = e.Client.ExplainAll(ctx, s.tasks)
	return s, err
}

// with returns the tasks with one of these causes, and the explanation of the first.
func (s *sample) with(causes ...taskcause.Cause) (tasks []*taskkit.Task, first *taskkit.Explanation) {
	for i, e := range s.why {
		if slices.Contains(causes, e.Cause) {
			if first == nil {
				first = e
			}
			tasks = append(tasks, s.tasks[i])
		}
	}
	return tasks, first
}

// taskIDs returns the ids of tasks.
func taskIDs(tasks []*taskkit.Task) (all []string) {
	for _, t := range tasks {
		all = append(all, t.ID.String())
	}
	return all
}

// findings returns what is wrong with the tasks of a queue.
func (s *sample) findings() (all []Finding) {
	if tasks, first := s.with(taskcause.NoWorker, taskcause.Draining, taskcause.QueueNotServed); len(tasks) > 0 {
		all = append(all, found("no_worker", fmt.Sprintf("Queue %s has due tasks that no worker takes, the oldest for %s: %s.",
			s.queue.Name, round(waited(tasks[0])), first.Note)).
			since(tasks[0].NotBefore).of(taskIDs(tasks)...).by("taskkit explain "+tasks[0].ID.String()))
	}
	if tasks, first := s.with(taskcause.Throttled); len(tasks) > 0 {
		all = append(all, found("throttled", fmt.Sprintf("Of the %s of queue %s, %d: %s.", s.first(), s.queue.Name, len(tasks), first.Note)).
			of(taskIDs(tasks)...).by("taskkit explain "+tasks[0].ID.String()))
	}
	return slices.Concat(all, s.fullSlots(), s.fullQueueSlots(), s.old())
}

// first names the tasks of the sample.
func (s *sample) first() string {
	if len(s.tasks) == 1 {
		return "first waiting task"
	}
	return fmt.Sprintf("first %d waiting tasks", len(s.tasks))
}

// waited returns how long a task has been due.
func waited(t *taskkit.Task) time.Duration { return max(-t.Wait, 0) }

// old finds a queue whose oldest due task is too old.
func (s *sample) old() []Finding {
	if s.queue.OldestWait < s.options.Due {
		return nil
	}
	var due []*taskkit.Task
	counts := make(map[taskcause.Cause]int)
	for i, t := range s.tasks {
		if t.Wait <= 0 {
			due = append(due, t)
			counts[s.why[i].Cause]++
		}
	}
	if len(due) == 0 {
		return nil
	}
	causes := make([]taskcause.Cause, 0, len(counts))
	for c := range counts {
		causes = append(causes, c)
	}
	slices.SortFunc(causes, func(a, b taskcause.Cause) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	text := make([]string, len(causes))
	for i, c := range causes {
		text[i] = fmt.Sprintf("%s %d", c, counts[c])
	}
	f := found("queue_old", fmt.Sprintf("The oldest due task of queue %s has waited for %s; the causes of the first %s: %s.",
		s.queue.Name, round(s.queue.OldestWait), count(len(due), "due task"), strings.Join(text, ", "))).
		since(due[0].NotBefore).of(taskIDs(due)...).by("taskkit explain " + due[0].ID.String())
	f.More = max(s.queue.Due-int64(len(f.Affected)), f.More)
	return []Finding{f}
}

// fullSlots finds a kind that has all slots while tasks of other kinds wait.
func (s *sample) fullSlots() []Finding {
	waits, _ := s.with(taskcause.SlotsBusy)
	var queues []string
	slots := 0
	for _, w := range s.workers {
		queues, slots = append(queues, w.Queues...), slots+w.Slots
	}
	var total int64
	kinds := make(map[string]int64)
	since := make(map[string]time.Time)
	top := ""
	for _, f := range s.flying {
		if !slices.Contains(queues, f.Queue) {
			continue
		}
		total += f.Tasks
		kinds[f.Kind] += f.Tasks
		if at := since[f.Kind]; at.IsZero() || f.Since.Before(at) {
			since[f.Kind] = f.Since
		}
		if kinds[f.Kind] > kinds[top] {
			top = f.Kind
		}
	}
	others := slices.DeleteFunc(waits, func(t *taskkit.Task) bool { return t.Kind == top })
	if len(others) == 0 || kinds[top]*10 < total*9 || waited(others[0]) < fullFor {
		return nil
	}
	return []Finding{found("slots_one_kind", fmt.Sprintf("The kind %s has %d of the %d slots that serve queue %s, while tasks of other kinds wait, the oldest for %s.",
		top, kinds[top], slots, s.queue.Name, round(waited(others[0])))).since(since[top]).of(taskIDs(others)...).by("taskkit ls --status EXECUTING --kind " + quote(top))}
}

// fullQueueSlots finds a queue whose slots of its own are busy while its workers have free ones.
func (s *sample) fullQueueSlots() []Finding {
	if s.options.Config == nil || s.queue.Due == 0 {
		return nil
	}
	own := s.options.Config.QueueSlots[s.queue.Name]
	free := 0
	for _, w := range s.workers {
		free += w.Slots - w.Busy
	}
	if own == 0 || free <= 0 || s.queue.Running < int64(own*len(s.workers)) {
		return nil
	}
	return []Finding{found("queue_slots_full", fmt.Sprintf("Queue %s has %s of its own on each of %s, and all of them are busy; tasks due: %d, free slots: %d.",
		s.queue.Name, count(own, "slot"), count(len(s.workers), "worker"), s.queue.Due, free)).of(s.queue.Name)}
}
