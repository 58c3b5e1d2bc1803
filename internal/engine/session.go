package engine

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// sessionDeps is what all sessions of a registration share.
type sessionDeps struct {
	store    Store
	config   Config
	process  string
	flusher  *flusher
	deadline *heartbeatDeadline // the commit of a batch may renew it
	pool     scheduler
	events   *observer
	parents  *wakeQueue[uuid.UUID] // wakes parents that wait for their children
	waiting  *wakeQueue[string]    // wakes tasks that wait for a permit
	permits  *permitQueue
	throttle *throttle // nil: no task waits because of an indicator
}

// scheduler is the pool, for the sessions that it runs.
type scheduler interface {
	// isDraining reports whether the session must end at its next batch boundary.
	isDraining() bool
	// othersWaiting reports whether other tasks wait for a slot.
	othersWaiting(ctx context.Context) bool
	// turnOver reports whether the task must yield to a task of another owner, see [fairShare].
	turnOver(ctx context.Context, t Task, order func() int, began time.Time, executed bool) bool
	// processed counts items of an owner for turnOver.
	processed(owner uuid.UUID, items int64)
	// detach continues a session on a goroutine of its own, outside its slot.
	detach(f func())
	// returned tells the claimer that a released task will become due.
	returned()
}

// flow is what a session does after one of its steps.
type flow int

const (
	endSession flow = iota
	continueSession
)

// Why a task waits again, as written into its row.
const (
	reasonShutdown = "interrupted: its worker shut down"
	reasonPaused   = "paused"
	reasonYielded  = "yielded to other tasks"
	reasonTurnOver = "yielded to a task of another owner"
	reasonNoSlot   = "its worker had no free slot"
	reasonLater    = "asked to continue later"
)

// session is the work of one worker on one task, under one task lease. It runs on one goroutine; executors run on
// others, so that an executor that ignores its context can be abandoned.
//
// A worker makes a session for each task, and most tasks are small: what few of them need is a [feature]. Go's collector
// is slower with objects of more than 512 bytes.
type session struct {
	current

	features []feature
	work     work      // of the next batch: it finds the targets of the task, or executes it
	children *children // the feature of a task that may have children; else nil
	permits  *permits  // the feature of a task that may have limits; else nil

	unanswered int          // commits of the present batch that had no answer and have not happened
	unknownEnd *store.Write // the last end of unknown outcome; nil: none

	quarantined     bool // the task is a suspected poison task, which runs alone
	leaveQuarantine func()
}

func newSession(ctx context.Context, d *sessionDeps, k *Kind, c store.ClaimedTask) *session {
	s := &session{
		current: current{
			sessionDeps: d, ctx: ctx, kind: k,
			task:     Task{ID: c.ID, Kind: c.Kind, Revision: c.Revision, SpecRevision: c.SpecRevision, Owner: c.Owner, RunAs: c.RunAs, Queue: c.Queue, Priority: c.Priority},
			log:      d.events.log.With("task", c.ID, "kind", c.Kind),
			lease:    c.Lease,
			state:    c.State,
			progress: c.Progress,
			control:  c.Control,
			tries:    c.Attempts,
			stored:   c.Attempts,
			limit:    newBatchSizer(k, c.Stalled, c.Attempts, d.config),
			stalled:  c.Stalled,
			began:    time.Now(),
		},
		leaveQuarantine: func() {},
	}
	s.work = &executing{c: &s.current}
	if s.hasChildren() {
		s.children = &children{c: &s.current}
	}
	return s
}

// prepare reads and decodes what the task is to do, and makes its features. False: the session has ended.
func (s *session) prepare(c store.ClaimedTask) bool {
	plan, err := s.plan(c)
	if err == nil {
		err = s.checkPreviewed(&plan)
	}
	switch {
	case err != nil && lifecycle.Poisoned(s.tries, s.config.MaxAttempts):
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
	skip := !targets.isFinding() && s.atPoisonItem(c)
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
func (s *session) plan(c store.ClaimedTask) (store.Plan, error) {
	if c.Spec != nil {
		return store.Plan{Spec: c.Spec}, nil
	}
	return s.readPlan()
}

// lasting makes the features that also follow an ending for which the spec cannot be decoded: they wake other tasks.
func (s *session) lasting(p *store.Plan) (list []feature) {
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
func (s *session) open(p *store.Plan, t *times) (*frozenTargets, error) {
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
	err = <-runIsolated(s.ctx, func(context.Context) (err error) {
		s.call, err = s.kind.Open(s.task, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	if t != nil {
		list = append(list, t)
	}
	if s.throttle != nil && s.throttle.concerns(s.kind) {
		list = append(list, &throttled{c: c})
	}
	list = append(list, newRate(c))
	if s.permits != nil {
		s.permits.complete(t)
	}
	s.features = append(append(list, s.features...), &worktime{c: c})
	return targets, nil
}

// enter waits until the task may begin: its features permit it, and it has its permits. False: the session has ended. A
// task that is to be ended or paused waits for nothing.
func (s *session) enter() bool {
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

// execute works on the task until the session ends.
func (s *session) execute() {
	s.started = true
	if s.start() == continueSession {
		s.loop()
	}
}

// start writes that the task is EXECUTING. The first attempt does not wait for that write. A later one commits it
// before anything is executed, so that a task that was only claimed when its worker was lost is known not to have caused that:
// see the reaper.
func (s *session) start() flow {
	if !lifecycle.StartIsCommitted(s.stored) {
		s.flusher.queueStart(s.lease, s.stored)
		return continueSession
	}
	w := store.Write{Lease: s.lease, To: lifecycle.Executing, Attempts: s.stored}
	a, err := s.flusher.apply(&w)
	return s.orFailed(s.handleWriteResult(&w, a, err, continueSession))
}

// loop runs batches until the session ends.
func (s *session) loop() {
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
func (s *session) batchBoundary() (execute bool, after flow) {
	switch s.control {
	case lifecycle.Stop:
		return false, s.end(ending{status: lifecycle.Completed, how: EndStop})
	case lifecycle.Delete:
		return false, s.end(ending{status: lifecycle.Completed, how: EndDelete})
	case lifecycle.Pause:
		if s.children != nil {
			_ = s.children.passOn() // after an error a reaper does it
		}
		return false, s.release(reasonPaused)
	case lifecycle.None:
	}
	switch {
	case s.ctx.Err() != nil:
		return false, endSession
	case s.conditions().AwaitsApproval(s.progress):
		return false, s.release(reasonPaused) // which pauses it, unless it has been approved
	case s.pool.isDraining():
		return false, s.release(reasonShutdown)
	case time.Since(s.began) > s.config.Quantum && s.pool.othersWaiting(s.ctx):
		return false, s.release(reasonYielded)
	case s.pool.turnOver(s.ctx, s.task, s.order, s.began, s.executed):
		return false, s.release(reasonTurnOver)
	}
	return s.between()
}

// between acts on the decisions of the features at a batch boundary. The first that keeps the batch from beginning counts.
func (s *session) between() (execute bool, after flow) {
	for _, f := range s.features {
		d, err := f.between(s.ctx)
		switch {
		case err != nil:
			return false, s.failed(s.ctx, err)
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
