package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// admissionsMax is how many tasks ask for places in one transaction at most.
const admissionsMax = 200

// admissions ask for the places of tasks under their limits. The sessions that ask at the same
// time do so in one transaction. run runs on one goroutine; admit is safe for concurrent use.
type admissions struct {
	store Store
	call  time.Duration // timeout of one call

	mu     sync.Mutex
	queue  []asked
	signal chan struct{}
}

// asked is a task whose session waits for an answer.
type asked struct {
	store.Admission
	answer chan<- admission
}

// admission is the answer to a session.
type admission struct {
	store.Admitted
	err error
}

func newAdmissions(s Store, call time.Duration) *admissions {
	return &admissions{store: s, call: call, signal: make(chan struct{}, 1)}
}

// admit asks for the places of a task, and waits for the answer.
func (a *admissions) admit(ctx context.Context, task store.Admission) (store.Admitted, error) {
	answer := make(chan admission, 1)
	a.mu.Lock()
	a.queue = append(a.queue, asked{task, answer})
	a.mu.Unlock()
	wake(a.signal)
	select {
	case r := <-answer:
		return r.Admitted, r.err
	case <-ctx.Done():
		return store.Admitted{}, context.Cause(ctx)
	}
}

// run asks until ctx ends.
func (a *admissions) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.signal:
		}
		for tasks := a.take(); len(tasks) > 0; tasks = a.take() {
			a.send(ctx, tasks)
		}
	}
}

// take returns the next tasks that ask.
func (a *admissions) take() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(len(a.queue), admissionsMax)
	tasks := a.queue[:n:n]
	a.queue = a.queue[n:]
	return tasks
}

// send asks for the places of some tasks.
func (a *admissions) send(ctx context.Context, tasks []asked) {
	all := make([]store.Admission, len(tasks))
	for i, t := range tasks {
		all[i] = t.Admission
	}
	cctx, cancel := context.WithTimeout(ctx, a.call)
	defer cancel()
	answers, err := a.store.Admit(cctx, all)
	for i, t := range tasks {
		r := admission{err: err}
		if err == nil {
			r.Admitted = answers[i]
		}
		t.answer <- r
	}
}

// Limiter is a [Call] of a kind that [Kind.HasLimits].
type Limiter interface {
	// Limits returns the limits of the task by its spec.
	Limits() ([]store.Limit, error)
}

// entry is what a session needs to enter whose task may have limits: its own, or by its kind.
type entry struct {
	limits   []store.Limit
	err      error         // of the limits that the kind of the task gives it
	specSize int64         // in bytes
	slotTime time.Duration // for which the session had a slot before it had to ask for places
}

// took is the time in a slot before the task entered; 0 for a task without limits.
func (e *entry) took() time.Duration {
	if e == nil {
		return 0
	}
	return e.slotTime
}

// enter gets the session to where it may begin: it is time for its task, and this has its places. False: the
// session has ended. A task that is to be ended or paused needs neither.
func (s *session) enter() bool {
	for s.control == lifecycle.None {
		if waits, after := s.mustWait(); waits {
			if after == endSession {
				return false
			}
			continue
		}
		admitted, after := s.admit()
		if admitted {
			return true
		}
		if after == endSession {
			return false
		}
	}
	return true
}

// admit gives the task its places under its limits, or makes it wait for them.
func (s *session) admit() (admitted bool, after flow) {
	switch {
	case s.entry == nil:
		return true, continueSession
	case s.entry.err != nil:
		return false, s.failed(s.ctx, s.entry.err)
	case len(s.entry.limits) == 0:
		return true, continueSession
	}
	answer, err := s.admissions.admit(s.ctx, store.Admission{Lease: s.lease, Limits: s.entry.limits})
	switch {
	case err != nil:
		return false, s.failed(s.ctx, err)
	case answer.OK:
		return true, continueSession
	}
	return false, s.write(&store.Write{
		Lease: s.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(s.stored), At: s.orExpires(store.Forever),
		Reason: classify.Clean(fmt.Sprintf(lifecycle.ReasonNoPlace+"%q: at most %d at once", answer.Full.Key, answer.Full.AtMost)),
	})
}

// addLimits adds the limits that the task has by its kind to those that it was submitted with. A task that is to
// be ended asks for no places, so what its kind says is not needed.
func (s *session) addLimits() {
	if !s.kind.HasLimits || s.control != lifecycle.None {
		return
	}
	var own []store.Limit
	s.entry.err = <-runIsolated(s.ctx, func(context.Context) (err error) {
		own, err = s.call.(Limiter).Limits() //nolint:errcheck,forcetypeassert // the kind says so
		return err
	})
	if s.entry.err == nil {
		s.entry.limits = store.MergeLimits(s.entry.limits, own)
	}
}

// checkLimits makes the checks that must follow when the task has left this worker, or waits for
// a place. A task that has not asked for one may have been woken for a place that is free still.
func (s *session) checkLimits() {
	if s.entry == nil {
		return
	}
	for _, l := range s.entry.limits {
		s.places.check(l.Key)
	}
}
