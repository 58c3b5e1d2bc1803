package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// host is what sessions share: one incarnation of a worker.
type host struct {
	store   store.Store
	config  Config
	process string
	flush   *flusher
	// draining is closed when sessions must end at their next border.
	draining <-chan struct{}
	// waiting asks whether other tasks wait for a slot.
	waiting func(ctx context.Context) bool
	// spawn runs f on a goroutine that the incarnation waits for. Only the
	// flusher's goroutine calls it.
	spawn func(f func())
	lease *lease // a commit on SQLite renews the process's heartbeat
	log   *slog.Logger
}

func (h *host) isDraining() bool {
	select {
	case <-h.draining:
		return true
	default:
		return false
	}
}

// session is one hold of one task, from claim to release. It runs on one
// goroutine; executors run on others, so that one that ignores its context can
// be left behind.
type session struct {
	*host
	ctx  context.Context //nolint:containedctx // it is the hold: it ends with it, and a cause says why
	kind *Kind
	task Task
	call Call
	log  *slog.Logger

	hold     store.Hold
	begun    bool // the task is EXECUTING in the database
	state    json.RawMessage
	progress store.Progress
	control  workflow.Control
	// tries is the number of this try of the batch at hand, from 1. stored is
	// what attempts is in the database.
	tries, stored int
	limit         limit
	began         time.Time
	trusted       func() // to be called when a batch has gone well
}

func newSession(ctx context.Context, h *host, k *Kind, c store.Claimed) *session {
	return &session{
		host: h, ctx: ctx, kind: k,
		task:     Task{ID: c.ID, Kind: c.Kind, Revision: c.Revision, SpecRevision: c.SpecRevision, Owner: c.Owner, RunAs: c.RunAs},
		log:      h.log.With("task", c.ID, "kind", c.Kind),
		hold:     c.Hold,
		state:    c.State,
		progress: c.Progress,
		control:  c.Control,
		tries:    c.Attempts,
		stored:   c.Attempts,
		limit:    newLimit(k.Limit, c.Attempts, h.config),
		began:    time.Now(),
		trusted:  func() {},
	}
}

// run works on the task until the hold ends.
func (s *session) run(c store.Claimed) {
	spec, err := s.spec(c)
	if err != nil {
		s.failed(s.ctx, err)
		return
	}
	s.call, err = s.open(spec)
	switch {
	case err != nil:
		s.end(ending{status: workflow.Error, how: EndFailed, verdict: errclass.Verdict{
			Class: errclass.Permanent, Code: "undecodable", Detail: errclass.Clean(err.Error()),
		}})
		return
	case s.tries > s.config.MaxAttempts:
		s.end(ending{status: workflow.Error, how: EndFailed, verdict: errclass.Verdict{
			Class: errclass.Permanent, Code: "crash_loop",
			Detail: fmt.Sprintf("claimed %d times without a checkpoint and without an error: it seems to kill its worker", s.tries-1),
		}})
		return
	}
	if err := s.identify(s.ctx); err != nil {
		s.failed(s.ctx, err)
		return
	}
	if s.start() {
		s.loop()
	}
}

// start writes that the task executes, and reports whether the session goes on.
// The first time nobody waits for that. Later it is committed before anything is
// executed, so that a lost task that was only claimed is known to be innocent:
// see the reaper.
func (s *session) start() bool {
	if s.stored <= 1 {
		s.flush.begin(s.hold, s.stored)
		return true
	}
	w := store.Write{Hold: s.hold, To: workflow.Executing, Attempts: s.stored}
	a, err := s.flush.apply(w)
	return s.wrote(w, a, err, false)
}

// loop performs batches until the hold ends.
func (s *session) loop() {
	for more := true; more; {
		more = s.border() && s.batch()
	}
}

// open decodes the spec. Decoding may call code of the user's.
func (s *session) open(spec json.RawMessage) (c Call, err error) {
	err = <-apart(s.ctx, func(context.Context) (err error) {
		c, err = s.kind.Open(s.task, spec)
		return err
	})
	return c, err
}

// spec returns the task's spec, which may be too large to come with a claim.
func (s *session) spec(c store.Claimed) (json.RawMessage, error) {
	if !c.SpecOmitted {
		return c.Spec, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	return s.store.Spec(ctx, c.ID)
}

// identify checks that the task's people may act now: the first of the three
// transactions has nothing else to do with the security context.
func (s *session) identify(ctx context.Context) error {
	_, err := s.identity(ctx)
	return err
}

// identity installs the security context; SSP-50 and SSP-51 ask for it before
// each of the transactions.
func (s *session) identity(ctx context.Context) (_ context.Context, err error) {
	if s.config.Identity == nil {
		return ctx, nil
	}
	made := make(chan context.Context, 1)
	err = <-apart(ctx, func(ctx context.Context) error {
		as, err := s.config.Identity(ctx, s.task.Owner, s.task.RunAs)
		made <- as
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-made, nil
}

// border acts on what was asked of the task or the worker between two batches,
// and reports whether the session goes on.
func (s *session) border() bool {
	switch s.control {
	case workflow.Stop:
		s.end(ending{status: workflow.Completed, how: EndStop})
		return false
	case workflow.Delete:
		s.end(ending{status: workflow.Completed, how: EndDelete})
		return false
	case workflow.Pause:
		return s.release("paused")
	case workflow.None:
	}
	switch {
	case s.ctx.Err() != nil:
		return false
	case s.isDraining():
		return s.release("interrupted: its worker shut down")
	case time.Since(s.began) > s.config.Quantum && s.waiting(s.ctx):
		return s.release("made way for others")
	}
	return true
}

// batch performs one batch and reports whether the session goes on.
func (s *session) batch() bool {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.config.BatchTimeout, errclass.ErrBatchTimeout)
	defer cancel()
	started := time.Now()

	tx := newLazyTx(s.store, s.hold, s.config.limits())
	step := newStep(s.task, Env{Tx: tx, Limit: s.limit.now, Attempt: s.tries, Log: s.log}, s.progress)
	var (
		next   int64
		state  json.RawMessage
		result json.RawMessage
	)
	err := s.guarded(ctx, step, func(ctx context.Context) (err error) {
		next, state, err = s.call.Execute(ctx, step, s.state)
		if err == nil && next < 0 && s.kind.HasReport {
			// The state is what Execute has just made of it.
			step.Ending, step.Task.Revision = EndDone, s.kind.Revision
			result, err = s.call.Report(ctx, step, state)
		}
		return err
	})
	if err != nil {
		tx.drop()
		return s.failed(ctx, err)
	}

	w := store.Write{
		Hold: s.hold, To: workflow.Executing, Begun: s.begun, Checkpoint: true,
		Revision: s.kind.Revision, State: state, Result: result,
	}
	if s.task.Revision != s.kind.Revision {
		w.Secrets = s.kind.Secrets // the task knows those of its own revision
	}
	w.Progress, w.Failures = step.outcome()
	last := s.next(&w, next)
	s.limit.saw(w.Progress.Done+w.Progress.Failed+w.Progress.Skipped-
		s.progress.Done-s.progress.Failed-s.progress.Skipped, time.Since(started))
	return s.commit(tx, w, last)
}

// next sets where the task goes after a batch that succeeded, and reports
// whether the session ends with it.
func (s *session) next(w *store.Write, next int64) (last bool) {
	switch {
	case next < 0:
		w.To, w.ClearControl = workflow.Completed, true
	case next > 0:
		w.To, w.Delay, w.Reason = workflow.Queued, time.Duration(next), "asked to continue later"
	case s.isDraining():
		w.To, w.Reason = workflow.Queued, "interrupted: its worker shut down"
	default:
		return false
	}
	return true
}

// guarded calls an executor on a goroutine of its own. An executor that does
// not return some time after its context has ended is left behind.
func (s *session) guarded(ctx context.Context, step *Step, f func(context.Context) error) error {
	ctx, err := s.identity(ctx)
	if err != nil {
		return err
	}
	returned := apart(ctx, f)
	select {
	case err = <-returned:
	case <-ctx.Done():
		patience := time.NewTimer(min(s.config.BatchTimeout/2, 5*time.Second))
		defer patience.Stop()
		select {
		case err = <-returned:
		case <-patience.C:
			step.seal()
			s.log.Error("executor ignores its context and is left behind", "cause", context.Cause(ctx))
			return context.Cause(ctx)
		}
	}
	if err == nil {
		// A begin that failed and was overlooked must not commit a batch whose
		// writes went nowhere; nor may a hold that is known to be lost.
		if _, broken := step.Tx.seal(); broken != nil {
			return broken
		}
	}
	return err
}

// commit makes a batch's last write: inside its transaction if it has one,
// otherwise with the group.
func (s *session) commit(tx *LazyTx, w store.Write, last bool) bool {
	open, _ := tx.seal()
	if open == nil {
		if last {
			// The slot is free for the next task; the end is acknowledged to
			// nobody before its flush has committed.
			s.flush.add(w, func(a store.Applied, err error) { s.handedOver(w, a, err) })
			return false
		}
		a, err := s.flush.apply(w)
		return s.wrote(w, a, err, last)
	}
	s.flush.forget(s.hold.ID)
	sent := time.Now()
	w.Renew = isSQLite(s.store) && s.lease.age() > s.config.Heartbeat/4
	// The executor's time is over; the commit has a deadline of its own, and
	// goes through even when the worker is asked to stop just now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.config.Call)
	defer cancel()
	a, err := open.Commit(ctx, w)
	if err == nil && a.OK && w.Renew {
		s.lease.renew(sent)
	}
	return s.wrote(w, a, err, last)
}

// handedOver deals with the outcome of an end that nobody waited for.
func (s *session) handedOver(w store.Write, a store.Applied, err error) {
	if err == nil && a.OK || errors.Is(err, errclass.ErrLost) {
		s.note(w, a)
		return
	}
	// Not applied, or refused. The session goes on until it knows why, on a
	// goroutine of its own, since this one is the flusher's.
	s.spawn(func() {
		if s.wrote(w, a, err, true) {
			s.loop()
		}
	})
}

// wrote takes note of the outcome of a write and reports whether the session
// goes on.
func (s *session) wrote(w store.Write, a store.Applied, err error, last bool) bool {
	switch {
	case store.Unknown(err):
		return s.reconcile(w)
	case errors.Is(err, errclass.ErrLost) || errors.Is(err, store.ErrLost):
		s.log.Warn("task lost: another worker has it, or it has ended")
		return false
	case err != nil:
		return s.failed(s.ctx, err)
	case !a.OK:
		return s.reconcile(w)
	}
	s.adopt(w, a)
	return !last
}

// adopt makes a committed write the session's own position.
func (s *session) adopt(w store.Write, a store.Applied) {
	s.note(w, a)
	if w.Checkpoint {
		s.hold.Seq++
		s.begun = w.To == workflow.Executing
		s.state, s.progress, s.task.Revision = w.State, w.Progress, w.Revision
		s.tries, s.stored = 1, 0
		s.trusted()
	}
	s.control = a.Control
}

// note logs an end.
func (s *session) note(w store.Write, a store.Applied) {
	if !a.OK {
		s.log.Warn("the end of the task was not applied: it was no longer held")
		return
	}
	if w.To.Terminal() {
		level := slog.LevelDebug
		if w.To != workflow.Completed {
			level = slog.LevelWarn
		}
		s.log.Log(context.Background(), level, "task ended", "status", w.To, "done", w.Progress.Done, "failed", w.Progress.Failed)
	}
}

// reconcile reads back where the task stands after a commit whose outcome is
// unknown, and believes that. It reports whether the session goes on.
func (s *session) reconcile(w store.Write) bool {
	for n := 1; ; n++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.config.Call)
		at, err := s.store.Positions(ctx, []uuid.UUID{s.hold.ID})
		cancel()
		if err == nil {
			p, exists := at[s.hold.ID]
			if !exists || p.Fence != s.hold.Fence || !p.Status.InFlight() {
				s.log.Info("after an uncertain commit: the task is no longer held here", "exists", exists, "status", p.Status)
				return false
			}
			s.log.Warn("after an uncertain commit: reading back", "committed", p.Seq != w.Seq, "checkpoint", p.Seq)
			if p.Seq != s.hold.Seq {
				// It was this session's own: nobody else writes under this fence.
				s.hold.Seq, s.state, s.progress, s.task.Revision = p.Seq, p.State, p.Progress, s.kind.Revision
				s.tries, s.stored = p.Attempts+1, p.Attempts
			}
			s.control, s.begun = p.Control, p.Status == workflow.Executing
			return true
		}
		if s.ctx.Err() != nil {
			return false
		}
		s.log.Warn("cannot read back an uncertain commit", "try", n, "error", err)
		sleep(s.ctx, s.config.Backoff.Delay(1)/10)
	}
}
