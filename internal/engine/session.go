package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// sessionDeps is what all sessions of a registration share.
type sessionDeps struct {
	store      Store
	config     Config
	process    string
	flusher    *flusher
	deadline   *heartbeatDeadline // the commit of a batch may renew it
	pool       scheduler
	events     *observer
	parents    *checks[uuid.UUID] // wakes parents that wait for their children
	places     *checks[string]    // wakes tasks that wait for a place under a limit
	admissions *admissions
	throttle   *throttle // nil: no task waits because of an indicator
}

// scheduler is what a session needs of the pool that runs it.
type scheduler interface {
	// isDraining reports whether the session must end at its next batch boundary.
	isDraining() bool
	// othersWaiting reports whether other tasks wait for a slot.
	othersWaiting(ctx context.Context) bool
	// turnOver reports whether the task must yield to one of another owner, see [turns].
	turnOver(ctx context.Context, t Task, order func() int, began time.Time, executed bool) bool
	// processed counts items for this.
	processed(owner uuid.UUID, items int64)
	// detach continues a session on a goroutine of its own, outside its slot.
	detach(f func())
	// returned says that the task was given back, and will be due.
	returned()
}

// flow says what a session does after one of its steps.
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

// session is the work of one worker on one task, under one task lease. It runs on
// one goroutine; executors run on others, so that one that ignores its context
// can be abandoned.
//
// A worker makes one for each task, and most tasks are small: what few of them need is behind a pointer. Go's
// collector is slower with objects of more than 512 bytes.
type session struct {
	*sessionDeps
	ctx  context.Context //nolint:containedctx // it is the task lease: it ends with it, and a cause says why
	kind *Kind
	task Task
	call Call
	log  *slog.Logger // of the executor

	lease    store.Lease
	state    json.RawMessage
	progress lifecycle.Progress
	control  lifecycle.Control
	// tries is the number of the present try of the batch, from 1. stored is what
	// attempts is in the database.
	tries, stored int
	unanswered    int    // commits of the present batch that had no answer and have not happened
	limit         *sizer // of batches
	idle          idleGuard
	began         time.Time
	worktime      worktime

	begun       bool // the task is EXECUTING in the database
	executed    bool // a batch has been committed
	stalled     bool // the task was, when it was claimed
	skip        bool // the item that the task is at is poison, and its kind allows to skip it
	quarantined bool // the task is a suspected poison task, which runs alone

	frozen  *frozenTargets // nil: the task has none
	search  *search        // nil: the task does not find its targets, or has found them
	preview *preview       // nil: the task is none
	// options are as they were when the session began; nil: none. Only the store knows changes since.
	options *store.Options
	child   *store.Child  // nil: the task is none
	family  *store.Family // before the present batch; nil: the task can have no children
	times   *times        // nil: the task may execute at any time
	rate    *rateLimit    // nil: any
	entry   *entry        // nil: the task can have no limits

	// unknownEnd is the last end whose outcome was unknown; nil if there was none.
	unknownEnd *store.Write
	// throttledBy is the indicator because of which the task is released; "": it is none.
	throttledBy string
	// leaveQuarantine is called when the task is no longer a suspected poison task.
	leaveQuarantine func()
}

func newSession(ctx context.Context, d *sessionDeps, k *Kind, c store.ClaimedTask) *session {
	return &session{
		sessionDeps: d, ctx: ctx, kind: k,
		task:            Task{ID: c.ID, Kind: c.Kind, Revision: c.Revision, SpecRevision: c.SpecRevision, Owner: c.Owner, RunAs: c.RunAs, Queue: c.Queue, Priority: c.Priority},
		log:             d.events.log.With("task", c.ID, "kind", c.Kind),
		lease:           c.Lease,
		state:           c.State,
		progress:        c.Progress,
		control:         c.Control,
		tries:           c.Attempts,
		stored:          c.Attempts,
		limit:           newBatchSizer(k, c.Stalled, c.Attempts, d.config),
		stalled:         c.Stalled,
		began:           time.Now(),
		leaveQuarantine: func() {},
	}
}

// prepare reads and decodes what the task is to do. False: the session has ended.
func (s *session) prepare(c store.ClaimedTask) bool {
	plan, err := s.plan(c)
	if err == nil {
		err = s.checkPreviewed(&plan)
	}
	switch {
	case err != nil && lifecycle.Poisoned(s.tries, s.config.MaxAttempts):
		s.endPoison() // no attempt is left to read it in
		return false
	case err != nil:
		s.failed(s.ctx, err)
		return false
	}
	if err = s.setOptions(&plan); err != nil {
		s.failed(s.ctx, err)
		return false
	}
	if s.kind.HasLimits || len(plan.Options.Limits) > 0 {
		s.entry = &entry{limits: plan.Options.Limits, specSize: int64(len(plan.Spec))}
	}
	if s.hasChildren() {
		s.family, s.options = &store.Family{}, cmp.Or(s.options, &store.Options{})
	}
	if s.call, err = s.open(&plan); err == nil {
		s.addLimits()
	}
	s.skip = s.search == nil && s.atPoisonItem(c)
	switch {
	case err != nil:
		s.end(ending{status: lifecycle.Error, how: EndFailed, class: classify.Classification{
			Class: lifecycle.Permanent, Code: classify.CodeUndecodable, Detail: classify.Clean(err.Error()),
		}})
		return false
	case s.isPoison():
		s.endPoison()
		return false
	}
	if _, err := s.withIdentity(s.ctx); err != nil {
		s.failed(s.ctx, err)
		return false
	}
	return true
}

// setOptions sets what the session needs of the options of its task. Most tasks have none, so each part is nil then.
func (s *session) setOptions(p *store.Plan) (err error) {
	if !p.Options.Given() {
		return nil
	}
	o := p.Options
	s.options, s.child = &o, o.Child
	if s.times, err = newTimes(p); err != nil {
		return err
	}
	if s.times != nil {
		o.Deadline = s.times.ofBuckets()
	}
	s.setRate(o.MaxRate)
	return nil
}

// conditions returns those of the task.
func (s *session) conditions() lifecycle.Conditions {
	if s.options == nil {
		return lifecycle.Conditions{}
	}
	return s.options.Conditions
}

// execute works on the task until the session ends.
func (s *session) execute() {
	if s.start() == continueSession {
		s.loop()
	}
}

// start writes that the task is EXECUTING. At the first attempt nobody waits for
// that. Later it is committed before anything is executed, so that a task that was
// only claimed when its worker was lost is known not to have caused that: see the
// reaper.
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
	s.restartMeasure()
	for {
		execute, f := s.batchBoundary()
		if execute && s.hasChildren() {
			execute, f = s.joinFamily()
		}
		if f == endSession {
			return
		}
		if !execute {
			continue
		}
		next := s.batch
		if s.search != nil {
			next = s.find
		}
		if next() == endSession {
			return
		}
	}
}

// open decodes the spec. Decoding may call code of the user's.
func (s *session) open(p *store.Plan) (c Call, err error) {
	if err := s.openPreview(p); err != nil {
		return nil, err
	}
	if p.Frozen != nil {
		s.frozen = &frozenTargets{FrozenTargets: *p.Frozen, spec: p.Spec}
		if err := s.openSearch(); err != nil {
			return nil, err
		}
	} else if p.Spec == nil && s.kind.DecodeTargets != nil {
		return nil, errNoPlan
	}
	spec := p.Spec
	err = <-runIsolated(s.ctx, func(context.Context) (err error) {
		c, err = s.kind.Open(s.task, spec)
		return err
	})
	return c, err
}

// plan returns the task's spec and what the task has beside its row. A claim leaves
// out a spec that is too large or is in the plan, and that of a task that was given options after its submission.
func (s *session) plan(c store.ClaimedTask) (store.Plan, error) {
	if c.Spec != nil {
		return store.Plan{Spec: c.Spec}, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	return s.store.Plan(ctx, c.ID)
}

// withIdentity installs the security context; SSP-50 and SSP-51 ask for it before
// each transaction. It fails when the task's people may not act now.
func (s *session) withIdentity(ctx context.Context) (_ context.Context, err error) {
	if s.config.Identity == nil {
		return ctx, nil
	}
	made := make(chan context.Context, 1)
	err = <-runIsolated(ctx, func(ctx context.Context) error {
		as, err := s.config.Identity(ctx, s.task.Owner, s.task.RunAs)
		made <- as
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-made, nil
}

// batchBoundary acts, between two batches, on what was requested of the task or of
// the worker. It reports whether the next batch may be executed. If it may not and the session
// continues, a commit that seemed not to have happened was late, and the task was not ended
// or released: the caller calls it again.
func (s *session) batchBoundary() (execute bool, after flow) {
	switch s.control {
	case lifecycle.Stop:
		return false, s.end(ending{status: lifecycle.Completed, how: EndStop})
	case lifecycle.Delete:
		return false, s.end(ending{status: lifecycle.Completed, how: EndDelete})
	case lifecycle.Pause:
		if s.hasChildren() {
			_ = s.passOn() // after an error a reaper does it
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
	waits, after := s.mustWait()
	return !waits, after
}

// order is the place of the task in the order of claims after a release.
func (s *session) order() int {
	return lifecycle.ClaimOrder(s.stalled && !s.executed, s.task.Priority, lifecycle.Unspent(s.stored))
}

// check makes the store check a write that may bring the task to a limit. An end
// is not checked: nothing follows it.
func (s *session) check(w *store.Write) {
	if !w.To.Terminal() && s.conditions().MustCheck(s.progress, w.Progress) {
		w.Check, w.StopAfter = true, s.kind.StopAfter
	}
}
