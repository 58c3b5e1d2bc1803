package session

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskevent"
)

// Deps is what all sessions of a registration share.
type Deps struct {
	Store    store.Runtime
	Config   Config
	Process  string
	Writer   Writer
	Deadline Deadline
	Pool     Pool
	Events   *observe.Observer
	Parents  Waker[uuid.UUID] // wakes parents that wait for their children
	Waiting  Waker[string]    // wakes tasks that wait for a permit
	Permits  *PermitQueue
	Throttle *Throttle // nil: no task waits because of an indicator
	Outage   Outage
	// Trace follows the work on a task, see [taskevent.Tracer]; nil: nothing does.
	Trace func(ctx context.Context, t taskevent.TracedTask) taskevent.Trace
}

// Pool is the pool, for the sessions that it runs.
type Pool interface {
	// IsDraining reports whether the session must end at its next batch boundary.
	IsDraining() bool
	// OthersWaiting reports whether other tasks wait for a slot.
	OthersWaiting(ctx context.Context) bool
	// TurnOver reports whether the task must yield to a task of another owner.
	TurnOver(ctx context.Context, t Task, order func() int, began time.Time, executed bool) bool
	// Processed counts items of an owner for TurnOver.
	Processed(owner uuid.UUID, items int64)
	// Detach continues a session on a goroutine of its own, outside its slot.
	Detach(f func())
	// Returned wakes the claimer because a released task, or a notification, will become due.
	Returned()
}

// Writer is the group commit. It is safe for concurrent use.
type Writer interface {
	// QueueStart queues a start, which nothing waits for.
	QueueStart(h store.Lease, attempts int)
	// CancelStart drops a start that has not been written.
	CancelStart(id uuid.UUID)
	// Add queues a write; done is called with its outcome, on the goroutine of the writer.
	Add(w *store.Write, done func(store.Applied, error))
	// Apply queues a write and waits for its outcome.
	Apply(w *store.Write) (store.Applied, error)
}

// Deadline is the heartbeat deadline of the worker, which the commit of a batch may renew. It is safe for concurrent use.
type Deadline interface {
	// Age returns how long ago the last heartbeat was sent.
	Age() time.Duration
	// Renew records a heartbeat that was sent at a time and has succeeded.
	Renew(sent time.Time)
}

// Waker wakes the tasks that wait for a key. It is safe for concurrent use.
type Waker[K comparable] interface{ Add(keys ...K) }

// Outage tells faults of the database as a whole from errors of tasks. It is safe for concurrent use.
type Outage interface {
	// Causes reports whether such a fault has caused an error, of what a session has done since a time.
	Causes(ctx context.Context, c classify.Classification, since time.Time) bool
	// Served notes that a checkpoint or an end was committed.
	Served()
}

// flow is what a session does after one of its steps.
type flow int

const (
	endSession flow = iota
	continueSession
)

// Why a task waits again, as written into its row.
const (
	ReasonShutdown = "interrupted: its worker shut down"
	reasonPaused   = "paused"
	reasonYielded  = "yielded to other tasks"
	reasonTurnOver = "yielded to a task of another owner"
	ReasonNoSlot   = "its worker had no free slot"
	ReasonOutage   = "the database refused what its worker does"
	reasonLater    = "asked to continue later"
)

// Session is the work of one worker on one task, under one task lease. It runs on one goroutine; executors run on
// others, so that an executor that ignores its context can be abandoned.
//
// A worker makes a session for each task, and most tasks are small: what few of them need is a [feature]. Go's collector
// is slower with objects of more than 512 bytes.
type Session struct {
	current

	features []feature
	work     work      // of the next batch: it finds the targets of the task, or executes it
	children *children // the feature of a task that may have children; else nil
	permits  *permits  // the feature of a task that may have limits; else nil

	restart int64 // the number of the restart that a policy has requested; 0: none has

	unanswered int          // commits of the present batch that had no answer and have not happened
	unknownEnd *store.Write // the last end of unknown outcome; nil: none

	quarantined     bool // the task is a suspected poison task, which runs alone
	leaveQuarantine func()
}

func New(ctx context.Context, d *Deps, k *Kind, c store.ClaimedTask) *Session {
	s := &Session{
		current: current{
			Deps: d, ctx: ctx, kind: k, handed: new(bool),
			task:     Task{ID: c.ID, Kind: c.Kind, Revision: c.Revision, SpecRevision: c.SpecRevision, Owner: c.Owner, RunAs: c.RunAs, Queue: c.Queue, Priority: c.Priority},
			log:      d.Events.Log.With("task", c.ID, "kind", c.Kind),
			lease:    c.Lease,
			state:    c.State,
			progress: c.Progress,
			control:  c.Control,
			tries:    c.Attempts,
			stored:   c.Attempts,
			limit:    newBatchSizer(k, c.Stalled, c.Attempts, d.Config),
			stalled:  c.Stalled,
			began:    time.Now(),
		},
		leaveQuarantine: func() {},
	}
	s.work = &executing{c: &s.current}
	return s
}

// kin returns the feature of a task that may have children; else nil. A session that ends before it has read the plan has made no features.
func (s *Session) kin() *children {
	if s.children == nil && s.hasChildren() {
		s.children = &children{c: &s.current}
	}
	return s.children
}

// Task returns the task.
func (s *Session) Task() Task { return s.task }

// Lease returns the lease of the task.
func (s *Session) Lease() store.Lease { return s.lease }

// Quarantine makes the task a suspected poison task, which runs alone. exit leaves the quarantine.
func (s *Session) Quarantine(exit func()) { s.quarantined, s.leaveQuarantine = true, exit }

// Restart begins the time of the session anew.
func (s *Session) Restart() { s.began = time.Now() }

// NeedsPermits reports whether a prepared session waits for permits in [Session.Enter]. A suspected poison task waits for them in
// its slot.
func (s *Session) NeedsPermits() bool {
	return s.permits != nil && !s.quarantined && s.control == lifecycle.None
}

// LeaveSlot notes that the session continues outside its slot, and returns the bytes of the spec that it holds there.
func (s *Session) LeaveSlot() int64 {
	s.permits.slotTime = time.Since(s.began)
	return s.permits.specSize
}

// SlotTime returns how long the session had a slot before it waited for permits.
func (s *Session) SlotTime() time.Duration { return s.permits.took() }

// Release gives the task back without spending an attempt.
func (s *Session) Release(reason string) { s.release(reason) }

// ReleaseInPlace gives the task back without spending an attempt, to its place in the queue.
func (s *Session) ReleaseInPlace(reason string) { s.write(s.requeueIn(-1, reason)) }

// Prepare reads and decodes what the task is to do, and makes its features. False: the session has ended.
func (s *Session) Prepare(c store.ClaimedTask) bool {
	plan, err := s.plan(c)
	err = classify.OfRuntime(err)
	if err == nil {
		err = s.checkPreviewed(&plan)
	}
	switch {
	case err != nil && s.outage(s.ctx, err, s.began):
		s.releaseLater()
		return false
	case err != nil && lifecycle.Poisoned(s.tries, s.Config.MaxAttempts):
		s.end(s.crashLoop(nil)) // no attempt is left to read it in
		return false
	case err != nil:
		s.failed(s.ctx, err)
		return false
	}
	if plan.Options.Given() {
		options := plan.Options
		s.options = &options
	}
	s.planned = true
	s.trace = plan.Traceparent
	s.follow()
	s.features = s.lasting(&plan)
	times, err := newTimes(&s.current, &plan)
	if err != nil {
		s.failed(s.ctx, err)
		return false
	}
	targets, err := s.open(&plan, times)
	if err != nil {
		s.end(ending{status: lifecycle.Error, how: EndFailed, class: classify.Classification{
			Class: lifecycle.Permanent, Code: classify.CodeUndecodable, Detail: classify.Clean(err.Error()),
		}})
		return false
	}
	skip := !targets.isFinding() && !targets.areParts() && s.atPoisonItem(c)
	if skip || s.quarantined {
		s.features = append(s.features, &poison{c: &s.current, skip: skip, exit: s.leaveQuarantine})
	}
	if s.isPoison(skip) {
		s.end(s.crashLoop(targets))
		return false
	}
	if _, err := s.withIdentity(s.ctx); err != nil {
		s.failed(s.ctx, err)
		return false
	}
	return true
}

// plan returns the task's spec and what the task has beside its row. A claim leaves out a spec that is too large or
// is in the plan, and the spec of a task that was given options after its submission.
func (s *Session) plan(c store.ClaimedTask) (store.Plan, error) {
	if c.Spec != nil {
		return store.Plan{Spec: c.Spec}, nil
	}
	return s.readPlan()
}

// lasting makes the features that also follow an ending for which the spec cannot be decoded: they wake other tasks.
func (s *Session) lasting(p *store.Plan) (list []feature) {
	c := &s.current
	if s.permits = newPermits(c, p); s.permits != nil {
		list = append(list, s.permits)
	}
	if s.children = nil; c.hasChildren() {
		s.children = newChildren(c)
		list = append(list, s.children)
	}
	if c.parent() != nil {
		list = append(list, &child{c: c})
	}
	return list
}

// open decodes the spec, and makes the other features of the task. Decoding may call code of the user's.
func (s *Session) open(p *store.Plan, t *times) (*frozenTargets, error) {
	c := &s.current
	list := make([]feature, 0, 2+len(s.features))
	if c.isPreview() {
		f, err := newPreview(c, p)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	if c.progress.Round > 0 {
		list = append(list, &rounds{c: c, frozen: p.Frozen != nil})
	}
	targets, err := newFrozenTargets(c, p)
	switch {
	case err != nil:
		return nil, err
	case targets.isFinding():
		f, err := newSearching(c, targets, func() { s.work = &executing{c: c} })
		if err != nil {
			return nil, err
		}
		s.work = f
		list = append(list, f, targets)
	case targets != nil:
		list = append(list, targets)
	}
	spec := p.Spec
	err = <-RunIsolated(s.ctx, func(context.Context) (err error) {
		s.call, err = s.kind.Open(s.task, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t != nil {
		list = append(list, t)
	}
	if s.Throttle != nil && s.Throttle.concerns(s.kind) {
		list = append(list, &throttled{c: c})
	}
	list = append(list, newRate(c))
	if s.permits != nil {
		s.permits.complete(t)
	}
	s.features = append(append(list, s.features...), &worktime{c: c})
	return targets, nil
}

// Enter waits until the task may begin: its features permit it, and it has its permits. False: the session has ended. A
// task that is to be ended or paused waits for nothing.
func (s *Session) Enter() bool {
	for s.control == lifecycle.None {
		switch execute, after := s.between(); {
		case execute:
			return true
		case after == endSession:
			return false
		}
	}
	return true
}

// Execute works on the task until the session ends.
func (s *Session) Execute() {
	s.started = true
	s.own(func() {
		if s.start() == continueSession {
			s.loop()
		}
	})
}

// own runs f, and ends the trace of the session then, unless an event has ended it or f has handed the session to the group commit.
func (s *Session) own(f func()) {
	handed := new(bool)
	s.handed = handed
	f()
	if !*handed { // else the session is another goroutine's
		s.following.end(nil)
	}
}

// start writes that the task is EXECUTING. The first attempt does not wait for that write, unless a target is notified of it. A later one commits it
// before anything is executed, so that a task that was only claimed when its worker was lost is known not to have caused that:
// see the reaper.
func (s *Session) start() flow {
	notifies := s.lease.Seq == 0 && s.options.NotifiesOf(notice.Started)
	if !lifecycle.StartIsCommitted(s.stored) && !notifies {
		s.Writer.QueueStart(s.lease, s.stored)
		return continueSession
	}
	w := store.Write{Lease: s.lease, To: lifecycle.Executing, Attempts: s.stored}
	if notifies {
		w.Notify = notice.Started
	}
	a, err := s.Writer.Apply(&w)
	return s.orFailed(s.handleWriteResult(&w, a, err, continueSession))
}

// loop runs batches until the session ends.
func (s *Session) loop() {
	for {
		switch execute, after := s.batchBoundary(); {
		case after == endSession:
			return
		case execute && s.batch() == endSession:
			return
		}
	}
}

// batchBoundary acts, between two batches, on the requests on the task and the state of the worker, and on the decisions of
// the task's features. It reports whether the next batch may be executed. If it may not and the session continues, the caller
// calls it again: a commit that seemed not to have happened was late, and the task was neither ended nor released.
func (s *Session) batchBoundary() (execute bool, after flow) {
	switch s.control {
	case lifecycle.Stop:
		e, err := s.stopping()
		if err != nil {
			return false, s.endLater(classify.OfRuntime(err))
		}
		return false, s.end(e)
	case lifecycle.Delete:
		return false, s.end(ending{status: lifecycle.Completed, how: EndDelete})
	case lifecycle.Pause:
		if c := s.kin(); c != nil {
			_ = c.passOn() // after an error a reaper does it
		}
		return false, s.release(reasonPaused)
	case lifecycle.None:
	}
	switch {
	case s.ctx.Err() != nil:
		return false, endSession
	case s.conditions().AwaitsApproval(s.progress):
		return false, s.release(reasonPaused) // which pauses it, unless it has been approved
	case s.restart > 0:
		return false, s.restartDue()
	case s.Pool.IsDraining():
		return false, s.release(ReasonShutdown)
	case time.Since(s.began) > s.Config.Quantum && s.Pool.OthersWaiting(s.ctx):
		return false, s.release(reasonYielded)
	case s.Pool.TurnOver(s.ctx, s.task, s.order, s.began, s.executed):
		return false, s.release(reasonTurnOver)
	}
	return s.between()
}

// between acts on the decisions of the features at a batch boundary. The first that keeps the batch from beginning counts.
func (s *Session) between() (execute bool, after flow) {
	for _, f := range s.features {
		d, err := f.between(s.ctx)
		switch {
		case err != nil:
			return false, s.failed(s.ctx, classify.OfRuntime(err))
		case d.end != nil:
			return false, s.end(*d.end)
		case d.write != nil:
			return false, s.write(d.write)
		case d.pause > 0:
			sleep(s.ctx, d.pause)
			return false, continueSession
		}
	}
	return true, continueSession
}
