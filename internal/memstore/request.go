package memstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Request implements [store.Operator].
func (s *Store) Request(ctx context.Context, id uuid.UUID, q store.Request) (store.Task, error) {
	if err := s.enter(ctx); err != nil {
		return store.Task{}, fmt.Errorf("%s task %s: %w", q.Action, id, err)
	}
	defer s.mu.Unlock()
	for {
		r := s.tasks[id]
		if r == nil {
			return store.Task{}, store.ErrNotFound
		}
		if r.writer == nil && (len(r.share) == 0 || !s.erases(r, q.Action)) {
			return s.request(r, q)
		}
		if err := s.await(ctx, r); err != nil {
			return store.Task{}, fmt.Errorf("%s task %s: %w", q.Action, id, err)
		}
	}
}

// erases reports whether a request removes a row at once, which waits for a
// batch in progress.
func (s *Store) erases(r *row, a store.Action) bool {
	return a == store.ActDelete && (r.Status.Terminal() || s.unattended(&r.Task))
}

// unattended reports whether nobody will come for a waiting task whom a request
// would concern.
func (s *Store) unattended(t *store.Task) bool {
	return t.Status == workflow.Queued && (t.Fence == 0 || !s.known(t))
}

// request does what was asked of a row that nobody has locked.
func (s *Store) request(r *row, q store.Request) (store.Task, error) {
	commit := s.commit()
	if p := s.procs[r.Process]; r.Status.InFlight() && (p == nil || p.Ended != nil || s.silent(p)) {
		if _, _, err := s.release(commit); err != nil {
			return store.Task{}, err
		}
	}
	t := r.Task
	was := t.Status
	change, refuse, err := s.decide(&t, q.Action)
	if err != nil {
		return store.Task{}, err
	}
	if refuse {
		return store.Task{}, &store.StateError{ID: t.ID, Action: q.Action, Status: was, Control: r.Control}
	}
	if change == anew {
		if dup := s.taken(&t, "unique_key", t.UniqueKey); dup != nil {
			return store.Task{}, dup
		}
	}
	reason := errclass.Clean(q.Reason)
	s.events = append(s.events, event{task: t.ID, Event: store.Event{
		Created: s.now(), Action: string(q.Action), Actor: q.Actor, Reason: reason, Was: was,
	}})
	if change == nothing {
		return s.read(r), nil
	}
	t.ModifiedBy = q.Actor
	if q.Actor == uuid.Nil {
		t.ModifiedBy = t.Owner
	}
	if change == gone {
		got := s.read(r)
		s.remove(commit, "Request", r)
		got.Control, got.ControlBy, got.ControlReason = workflow.Delete, q.Actor, reason
		return got, nil
	}
	t.ControlBy, t.ControlReason = uuid.Nil, ""
	if t.Control != workflow.None {
		t.ControlBy, t.ControlReason = q.Actor, reason
	}
	if err := s.change(commit, "Request", r, &t); err != nil {
		return store.Task{}, err
	}
	if !was.InFlight() && q.Action != store.ActPause {
		s.hint()
	}
	return s.read(r), nil
}

// effect is what a request does.
type effect int

const (
	nothing effect = iota
	written        // to the row
	gone           // the row is removed
	anew           // the task begins anew
)

// decide makes of a task what an action asks, or says that its status does not
// allow it.
func (s *Store) decide(t *store.Task, a store.Action) (change effect, refuse bool, err error) {
	ending := t.Control == workflow.Stop || t.Control == workflow.Delete
	ended, unattended := t.Status.Terminal(), s.unattended(t)
	ask := func(c workflow.Control, urgent bool) effect {
		if t.Control == c {
			return nothing
		}
		t.Control = c
		if urgent && t.Status == workflow.Queued {
			t.NotBefore, t.Stalled = s.now(), true
		}
		return written
	}
	switch a {
	case store.ActStop:
		if ended || t.Control == workflow.Delete {
			return nothing, false, nil
		}
		if !unattended {
			return ask(workflow.Stop, true), false, nil
		}
		t.Control, t.Status, t.Stopped, t.Desc = workflow.Stop, workflow.Completed, new(s.now()), "stopped while no worker had it"
		return written, false, nil
	case store.ActPause:
		if ended || ending {
			return nothing, true, nil
		}
		return ask(workflow.Pause, false), false, nil
	case store.ActResume:
		if ended || t.Control != workflow.Pause {
			return nothing, true, nil
		}
		t.Control = workflow.None
		return written, false, nil
	case store.ActRetry:
		if t.Status != workflow.Error && t.Status != workflow.Failure || t.Control == workflow.Delete {
			return nothing, true, nil
		}
		t.Status, t.Attempts, t.Control, t.Stopped = workflow.Queued, 0, workflow.None, nil
		t.Stalled, t.NotBefore, t.Reason = false, s.now(), "retried"
		return anew, false, nil
	case store.ActDelete:
		if ended || unattended {
			return gone, false, nil
		}
		return ask(workflow.Delete, true), false, nil
	default:
		return nothing, false, fmt.Errorf("unknown action %q", a)
	}
}
