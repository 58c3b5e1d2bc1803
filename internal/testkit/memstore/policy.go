package memstore

import (
	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// checkPolicies pauses the tasks above one whose write has taken effect where the items of their children have reached their stop
// policy, and their children. A row that a batch has prepared is left to the next check. It reports whether the task is paused, which
// is part of the change that the write has made, the one with this place in the log.
func (s *Store) checkPolicies(commit int64, r *row, change int) bool {
	paused := false
	if !written(r) {
		r.writer = new(Tx) // it is not stepped upon
		defer func() { r.writer = nil }()
	}
	for p := s.tasks[r.Parent]; p != nil; p = s.tasks[p.Parent] {
		policy := lifecycle.Conditions{StopAfter: s.options(p.ID).StopAfter}
		if policy.StopAfter != (lifecycle.StopPolicy{}) && p.Status.Live() && p.Control == lifecycle.Pause && !lifecycle.TakesPause(p.Control, p.ControlReason) {
			paused = paused || lifecycle.PassesOn(p.Control, p.ControlBy, p.ControlReason) // it was, when a batch had prepared the row of this one
			continue
		}
		sums := s.sumOfChildren(p.ID)
		reason := policy.StopReason(sums.Progress())
		if reason == "" || sums.AllProcessed() || written(p) || !p.Status.Live() || !lifecycle.TakesPause(p.Control, p.ControlReason) {
			continue
		}
		t := p.Task
		t.Row = t.Pause(reason)
		s.events = append(s.events, event{task: p.ID, Event: store.Event{
			Created: s.now(), Action: string(lifecycle.ActPause), Reason: reason, FromStatus: p.Status,
		}})
		if s.change(commit, "Check", p, &t) != nil {
			continue
		}
		paused = true
		s.pauseChildren(commit, p, false)
	}
	if !paused || r.Status.Terminal() {
		return false
	}
	if r.Control == lifecycle.None {
		s.addEvent(r, lifecycle.ActPause, uuid.Nil)
		r.Row, _ = r.Request(lifecycle.Change{Effect: lifecycle.Recorded, Control: lifecycle.Pause}, uuid.Nil, lifecycle.ReasonParent, s.now())
		after := r.Task
		s.log[change].After = &after
	}
	return r.Control == lifecycle.Pause
}

// pauseChildren passes the request on a task on to its children to any depth. If it fails, so must they. An error of a change shows in the checks of the test.
func (s *Store) pauseChildren(commit int64, p *row, fails bool) {
	changed, _, _, _ := s.passOn(commit, p, passedByReaper, fails)
	for _, id := range changed {
		s.pauseChildren(commit, s.tasks[id], fails)
	}
}
