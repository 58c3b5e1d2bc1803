package taskops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/vitals"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
)

// QueueInfo is a queue: one that a task waits in or runs from, that a live worker serves, or
// that has been paused once. Tasks that are paused themselves are not counted.
type QueueInfo struct {
	Name    string `json:"name"`
	Waiting int64  `json:"waiting"`
	Due     int64  `json:"due"` // of those that wait
	// MoreWaiting: at least Waiting tasks wait, since not all were counted; MoreDue: at least Due tasks are due. At most 10,000
	// tasks of a kind, revision, priority and number of failed tries (from 0 to 3) are counted in each queue.
	MoreWaiting bool  `json:"more_waiting,omitempty"`
	MoreDue     bool  `json:"more_due,omitempty"`
	Running     int64 `json:"running"` // claimed by a worker
	Workers     int   `json:"workers"` // live ones that serve it
	// OldestDue is since when the task has been due that has been due for longest, and OldestWait
	// how long ago that is by the database's clock. Nil: no task is due.
	OldestDue  *time.Time    `json:"oldest_due,omitempty"`
	OldestWait time.Duration `json:"oldest_wait_ns,omitempty"`
	// Paused: no worker claims from it. By whom, why and when it was paused last is kept after it
	// was resumed, and so is the last resume.
	Paused        bool       `json:"paused"`
	PausedBy      uuid.UUID  `json:"paused_by,omitzero"`
	PausedReason  string     `json:"paused_reason,omitempty"`
	PausedDate    *time.Time `json:"paused_date,omitempty"`
	ResumedBy     uuid.UUID  `json:"resumed_by,omitzero"`
	ResumedReason string     `json:"resumed_reason,omitempty"`
	ResumedDate   *time.Time `json:"resumed_date,omitempty"`
	// UnknownKinds are the kinds of due tasks that no live worker of the queue knows.
	UnknownKinds []UnknownKind `json:"unknown_kinds,omitempty"`
}

// UnknownKind is a kind or a revision that no live worker of a queue knows. See
// [taskkit.Config.UnknownKindAfter].
type UnknownKind struct {
	Kind     string    `json:"kind"`
	Revision int       `json:"revision"`
	Tasks    int64     `json:"tasks"` // at least so many are due: 100 of each priority and number of failed tries are counted
	Since    time.Time `json:"since"` // when a worker first saw it, which is once a minute; now if none has yet
}

// PauseQueue keeps all workers from claiming tasks of a queue until [Operator.ResumeQueue]: a claim
// that begins after it has returned takes none. Tasks that workers have by then go on until they
// end or come back to the queue, for a retry say. Requests to stop or to delete a waiting task
// take effect, and tasks can be submitted. The queue needs no task and no worker. Pausing a
// paused queue does nothing, and is no error. Of the options only [taskkit.WithActor] and [taskkit.WithReason] are
// allowed. Another name than [taskkit.WithQueue] accepts is an *[taskkit.OptionError].
//
// Given a transaction, the pause takes effect when that commits.
func (o *Operator) PauseQueue(ctx context.Context, name string, opts ...taskkit.RequestOption) error {
	return o.changeQueue(ctx, name, true, opts)
}

// ResumeQueue lets workers claim tasks of a queue again. Resuming a queue that is not paused does
// nothing, and is no error. It takes the options of [Operator.PauseQueue].
func (o *Operator) ResumeQueue(ctx context.Context, name string, opts ...taskkit.RequestOption) error {
	return o.changeQueue(ctx, name, false, opts)
}

func (o *Operator) changeQueue(ctx context.Context, name string, paused bool, opts []taskkit.RequestOption) error {
	if !lifecycle.ValidQueue(name) {
		return &taskkit.OptionError{Option: "name", Problem: fmt.Sprintf("%q is not a valid name of a queue: use %s", shorten(name), lifecycle.QueueRule)}
	}
	r, err := access.RequestOf(opts, "a queue is paused and resumed")
	if err != nil {
		return err
	}
	op, err := o.store(ctx)
	if err != nil {
		return err
	}
	if err := op.PauseQueue(ctx, store.QueueChange{Queue: name, Paused: paused, Actor: r.Actor, Reason: r.Reason}); err != nil {
		return o.public(ctx, err)
	}
	return nil
}

// Queues returns the queues by name. It reads every task that runs, and a bounded number of those that wait.
func (o *Operator) Queues(ctx context.Context) ([]QueueInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := op.QueueCounts(ctx, store.QueueRead)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	pauses, err := op.PausedQueues(ctx)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	processes, err := op.Processes(ctx, 0)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	unknown, err := unknownKinds(ctx, op)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	return queueInfos(counts, pauses, processes, unknown), nil
}

// Estimates returns about how many tasks have each status, as PostgreSQL's planner expects by its last ANALYZE. It reads no task. A status that is
// rare may be missing. There are none on SQLite, before the first ANALYZE, and of a client that was made of another handle than *sql.DB.
func (o *Operator) Estimates(ctx context.Context) (map[taskkit.Status]int64, error) {
	db, schema := o.access.DB()
	if db == nil {
		return nil, nil
	}
	if name, err := dialect.Detect(ctx, db); err != nil || name != dialect.Postgres {
		return nil, o.public(ctx, err)
	}
	counts, err := vitals.ReadStatuses(ctx, db, schema)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	statuses := make(map[taskkit.Status]int64, len(counts))
	for status, n := range counts {
		statuses[taskkit.Status(status)] = n
	}
	return statuses, nil
}

// endedRead is how many tasks Ended reads of a kind.
const endedRead = 100_000

// Ended counts the tasks that ended in a span of time by the clock of the database, from included. Children count; tasks that are kept for a
// time of their own do not, see [taskkit.WithRetention]. Of each kind it reads at most 100,000 tasks; exact is false if there may be more.
// A span that ends before it begins has none.
func (o *Operator) Ended(ctx context.Context, from, until time.Time) (n int64, exact bool, err error) {
	op, err := o.store(ctx)
	if err != nil {
		return 0, false, err
	}
	n, exact, err = op.EndedBetween(ctx, from, until, endedRead)
	return n, exact, o.public(ctx, err)
}

// waitingRead is how many waiting tasks Waiting reads of a lane.
const waitingRead = 1000

// Waiting counts the tasks that wait for something else than a worker, by cause: those that are not due, and those that are paused. A paused task
// is counted once, due or not, as [taskcause.Approval] if it waits for approval and as [taskcause.Paused] if not. Paused queues are not
// considered. Of each kind, revision, priority and number of failed tries in a queue it reads at most 1,000 tasks that
// have a time and 1,000 that wait for children or a permit, and 10,000 in all; of the paused ones it counts at most 10,000 of each cause.
func (o *Operator) Waiting(ctx context.Context) (map[taskcause.Cause]int64, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := op.WaitingCauses(ctx, waitingRead)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	causes := make(map[taskcause.Cause]int64, len(counts))
	for cause, n := range counts {
		causes[taskcause.Cause(cause)] = n
	}
	return causes, nil
}

// unknownKinds returns the kinds that are unknown now. A worker records them from time to time, and it may have seen them earlier.
func unknownKinds(ctx context.Context, op store.Client) ([]store.UnknownKind, error) {
	unknown, err := op.FindUnknownKinds(ctx)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	recorded, err := op.UnknownKinds(ctx)
	if err != nil {
		return nil, err
	}
	for i, k := range unknown {
		n := slices.IndexFunc(recorded, func(r store.UnknownKind) bool {
			return r.Kind == k.Kind && r.Revision == k.Revision && r.Queue == k.Queue
		})
		if n >= 0 {
			unknown[i].First = recorded[n].First
		}
	}
	slices.SortFunc(unknown, func(a, b store.UnknownKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Revision, b.Revision))
	})
	return unknown, nil
}

// queueInfos joins what is known of queues.
func queueInfos(counts []store.QueueCounts, pauses []store.QueuePause, processes []store.Process, unknown []store.UnknownKind) []QueueInfo {
	byName := make(map[string]*QueueInfo)
	queue := func(name string) *QueueInfo {
		if byName[name] == nil {
			byName[name] = &QueueInfo{Name: name}
		}
		return byName[name]
	}
	for _, n := range counts {
		q := queue(n.Queue)
		q.Waiting, q.Due, q.Running, q.OldestDue, q.OldestWait = n.Waiting, n.Due, n.Running, n.Oldest, n.Wait
		q.MoreWaiting, q.MoreDue = n.MoreWaiting, n.MoreDue
	}
	for _, p := range pauses {
		q := queue(p.Queue)
		q.Paused, q.PausedBy, q.PausedReason, q.PausedDate = p.Paused, p.PausedBy, p.PausedReason, &p.PausedDate
		q.ResumedBy, q.ResumedReason, q.ResumedDate = p.ResumedBy, p.ResumedReason, p.ResumedDate
	}
	for _, p := range processes {
		if !p.Alive() {
			continue
		}
		for _, name := range p.Queues {
			queue(name).Workers++
		}
	}
	for _, k := range unknown {
		q := queue(k.Queue)
		q.UnknownKinds = append(q.UnknownKinds, UnknownKind{k.Kind, k.Revision, k.Tasks, k.First})
	}
	infos := make([]QueueInfo, 0, len(byName))
	for _, q := range byName {
		infos = append(infos, *q)
	}
	slices.SortFunc(infos, func(a, b QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos
}
