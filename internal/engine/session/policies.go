package session

import (
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// decided takes over what policies have decided after a write: the restart is left to the session of the task. It is not lost with the
// worker: another one that takes over the task restarts it too.
func (s *Session) decided(w *store.Write, d *store.Decided) {
	if d == nil {
		return
	}
	for _, f := range d.Fired {
		s.Events.Report(taskevent.PolicyFired{TaskRef: s.ref(), Of: f.Task, Policy: f.Policy, Action: string(f.Do), Reason: f.Reason})
	}
	if w.To == lifecycle.Executing {
		s.restart = d.Restart
	}
}

// restartDue gives the task back for a restart that a policy has requested.
func (s *Session) restartDue() flow {
	n := s.restart
	s.restart = 0
	return s.write(s.requeueIn(s.Config.Backoff.Delay(int(min(n, 100))), fmt.Sprintf("%srestart %d", lifecycle.ReasonPolicy, n)))
}

// stopping is the ending of a task that is to be stopped: a failure if one of its policies has said so, or a policy of a task above. A
// child fails with its parent so that a retry of the parent retries it.
func (s *Session) stopping() (ending, error) {
	stop := ending{status: lifecycle.Completed, how: EndStop}
	if s.options == nil || s.options.Policies == nil && !s.options.Watched {
		return stop, nil
	}
	failing, err := s.failing()
	if err != nil || failing == "" {
		return stop, err
	}
	return ending{status: lifecycle.Failure, how: EndFailed, unspent: true, class: classify.Classification{
		Class: lifecycle.Permanent, Code: classify.CodePolicy, Detail: failing,
	}}, nil
}

// failing returns why the task must fail by a policy of its own or of a task above; "": it must not. A write of another task may have
// fired the policy.
func (s *Session) failing() (string, error) {
	for id := s.task.ID; ; {
		p, err := s.readPlanOf(id)
		o := &p.Options
		if err != nil || o.PolicyState.Failing != "" || o.Child == nil || !o.Watched {
			return o.PolicyState.Failing, err
		}
		id = o.Child.Parent
	}
}
