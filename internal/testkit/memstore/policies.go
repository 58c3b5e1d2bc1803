package memstore

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// decidePolicies decides the policies of a task after a write, and of those above, and does what they say. The change that the write has
// made has this place in the log. A row that a batch has prepared is left to the next decision.
func (s *Store) decidePolicies(commit int64, r *row, change int, w *store.Write) *store.Decided {
	if !w.Policies && !w.Watched {
		return nil
	}
	if !written(r) {
		r.writer = new(Tx) // it is not stepped upon
		defer func() { r.writer = nil }()
	}
	var decided *store.Decided
	for p := r; p != nil; p = s.tasks[p.Parent] {
		if s.options(p.ID).Policies == nil || !p.Status.Live() || p != r && written(p) {
			continue
		}
		o := s.options(p.ID)
		o.PolicyState = clonedState(o.PolicyState)
		o.CountPolicies(w)
		at := p.Progress
		if len(s.children(p.ID)) > 0 {
			c := s.sumOfChildren(p.ID)
			if c.AllProcessed() {
				if p != r && (p.Control == lifecycle.Pause || p.Control == lifecycle.Stop) {
					s.passOnWritten(r, p.Control, change)
				}
				continue // no policy fires, as with the end of a task without children
			}
			sum := c.Progress()
			at.Done, at.Failed, at.Skipped = max(at.Done, sum.Done), max(at.Failed, sum.Failed), max(at.Skipped, sum.Skipped)
		}
		var started time.Time
		if p.FirstStarted != nil {
			started = *p.FirstStarted
		}
		fired := o.DecidePolicies(p.ID, s.now(), started, at)
		for _, f := range fired {
			made := s.firePolicy(commit, p, f, p == r, change)
			if f.Do == taskpolicy.Fail && !made {
				o.PolicyState.Failing = "" // it ends by the request of a person
			}
		}
		if p != r && (p.Control == lifecycle.Pause || p.Control == lifecycle.Stop) && lifecycle.PassesOn(p.Control, p.ControlBy, p.ControlReason) {
			s.passOnWritten(r, p.Control, change) // also one that was made while a batch had prepared the row
		}
		s.changeOptions(p.ID, func(stored *store.Options) { stored.PolicyState = o.PolicyState })
		if len(fired) == 0 {
			continue
		}
		if decided == nil {
			decided = &store.Decided{}
		}
		decided.Fired = append(decided.Fired, fired...)
		if p == r && slices.ContainsFunc(fired, func(f store.Fired) bool { return f.Do == taskpolicy.Restart }) {
			decided.Restart = o.PolicyState.Restarts
		}
	}
	return decided
}

// codesOf counts the items of a task and its children, to any depth, by what became of them and their codes.
func (s *Store) codesOf(id uuid.UUID) (counted []store.CodeCount) {
	for _, i := range s.items[id] {
		switch i.Outcome {
		case store.ItemFailed:
			counted = append(counted, store.CodeCount{Of: taskpolicy.Failed, Code: i.Code, Items: 1})
		case store.ItemSkipped:
			counted = append(counted, store.CodeCount{Of: taskpolicy.Skipped, Code: i.Code, Items: 1})
		default:
		}
	}
	for _, c := range s.children(id) {
		counted = append(counted, s.codesOf(c.ID)...)
	}
	return counted
}

// passOnWritten passes a request on to the task of a write, which passOn steps over: it is part of the change that the write has made.
func (s *Store) passOnWritten(r *row, c lifecycle.Control, change int) {
	requested, action := lifecycle.PassOn(c, s.found(&r.Task))
	if requested.Effect != lifecycle.Recorded && requested.Effect != lifecycle.Expedited {
		return
	}
	s.addEvent(r, action, uuid.Nil)
	r.Row, _ = r.Request(requested, uuid.Nil, lifecycle.ReasonParent, s.now())
	after := r.Task
	s.log[change].After = &after
}

// requestWhole makes the request of a write on the task that its task is a part of, and on all parts.
func (s *Store) requestWhole(commit int64, r *row, change int, w *store.Write) {
	p := s.tasks[w.Whole]
	if p == nil || !p.Status.Live() {
		return
	}
	if c := s.sumOfChildren(p.ID); w.To.Terminal() && c.AllProcessed() {
		return
	}
	if !written(r) {
		r.writer = new(Tx) // it is not stepped upon
		defer func() { r.writer = nil }()
	}
	request, action, reason, takes := lifecycle.Change{Effect: lifecycle.Recorded, Control: lifecycle.Pause}, lifecycle.ActPause, w.Pause, lifecycle.TakesPause(p.Control, p.ControlReason)
	if w.Stop != "" {
		request.Control, action, reason, takes = lifecycle.Stop, lifecycle.ActStop, w.Stop, lifecycle.TakesStop(p.Control)
		if p.Status == lifecycle.Queued {
			request.Effect = lifecycle.Expedited
		}
	}
	if takes && !written(p) {
		s.events = append(s.events, event{task: p.ID, Event: store.Event{Created: s.now(), Action: string(action), Reason: reason, FromStatus: p.Status}})
		t := p.Task
		t.Row, _ = t.Request(request, uuid.Nil, reason, s.now())
		if s.change(commit, "Check", p, &t) != nil {
			return
		}
		s.wake()
		s.pauseChildren(commit, p, false)
	}
	if (p.Control == lifecycle.Pause || p.Control == lifecycle.Stop) && r.Status.Live() {
		s.passOnWritten(r, p.Control, change)
	}
}

// clonedState is a state that shares no map with s.
func clonedState(s store.PolicyState) store.PolicyState {
	text, err := store.WithPolicyState(nil, s)
	if err != nil {
		return s
	}
	o, err := store.DecodeOptions([]byte(text))
	if err != nil {
		return s
	}
	return o.PolicyState
}

// firePolicy does what a policy of a task says that has fired, and reports whether it has requested something of the task.
func (s *Store) firePolicy(commit int64, p *row, f store.Fired, own bool, change int) bool {
	action, takes := lifecycle.ActNotify, false
	request := lifecycle.Change{Effect: lifecycle.Recorded}
	switch f.Do {
	case taskpolicy.Pause:
		action, takes = lifecycle.ActPause, lifecycle.TakesStop(p.Control)
	case taskpolicy.Stop, taskpolicy.Fail:
		action, takes = lifecycle.ActStop, lifecycle.TakesStop(p.Control)
		request.Control = lifecycle.Stop
		if p.Status == lifecycle.Queued {
			request.Effect = lifecycle.Expedited
		}
	case taskpolicy.Notify, taskpolicy.Restart:
	}
	if action != lifecycle.ActNotify && !takes {
		return false
	}
	s.events = append(s.events, event{task: p.ID, Event: store.Event{Created: s.now(), Action: string(action), Reason: f.Reason, FromStatus: p.Status}})
	if !takes {
		return false
	}
	t := p.Task
	if f.Do == taskpolicy.Pause {
		t.Row = t.PauseToo(f.Reason)
	} else {
		t.Row, _ = t.Request(request, uuid.Nil, f.Reason, s.now())
	}
	if own {
		p.Row = t.Row
		after := p.Task
		s.log[change].After = &after
	} else if s.change(commit, "Check", p, &t) != nil {
		return false
	}
	s.wake()
	s.pauseChildren(commit, p, f.Do == taskpolicy.Fail)
	return true
}
