package taskkit

import (
	"context"

	"taskkit.dev/taskkit/taskpolicy"
)

// WithStrategy says what becomes of errors of the task: of its items, and of its batches. It replaces the strategy that the
// directive of the kind names with strategy=. The parts of the task have it too: buckets, ranges, and stages without a strategy
// of their own. It is an *[OptionError] for an invalid strategy, see [taskpolicy.Strategy.Check], and for an empty one.
func WithStrategy(s taskpolicy.Strategy) SubmitOption {
	return submitOption(func(sub *submission) {
		if len(s) == 0 {
			sub.fail("WithStrategy", "the strategy has no entry: leave the option out")
		} else if err := s.Check(); err != nil {
			sub.fail("WithStrategy", err.Error())
		}
		sub.Options.Strategy = s
	})
}

// WithPolicies gives the task policies, which replace those that the directive of the kind names with policies=. They are decided with
// the checkpoints and the failed attempts of the task and its children, see [taskpolicy.Policies]. It is an *[OptionError] for
// invalid policies, see [taskpolicy.Policies.Check], for none, with [WithCoalescing], and for [taskpolicy.Restart] of a task that may
// have children.
//
// The task is paused, stopped or failed in the transaction that fires the policy: [Task.ControlReason] or [Task.StatusDetail] names it, and
// so does an event of [Client.Events], and taskevent.PolicyFired. A policy does not fire again when the task was resumed. So
// WithStopAfter("100") is the policy that pauses when 100 items have failed, except that its resume needs a higher limit.
func WithPolicies(p ...taskpolicy.Policy) SubmitOption {
	return submitOption(func(s *submission) {
		if len(p) == 0 {
			s.fail("WithPolicies", "there is no policy: leave the option out")
		}
		s.Options.Policies, s.policies = p, true
	})
}

// restartsParent is the problem of a policy of a task with children: a restart would leave these as they are.
const restartsParent = "a policy restarts the task, which may have children: let it pause or notify, or give the policy to a stage"

// checkPolicies returns what is wrong with the policies of a task, which may have children.
func (s *submission) checkPolicies(children bool) error {
	o := s.Options
	fail := func(problem string) error {
		if !s.policies {
			problem += ", by the policies of its kind or of the task that it follows"
		}
		return &OptionError{"WithPolicies", problem}
	}
	if err := o.Policies.Check(); err != nil {
		return fail(err.Error())
	}
	switch {
	case len(o.Policies) == 0:
		return nil
	case s.Reference != "":
		return fail("used together with WithCoalescing: a waiting task with policies cannot be replaced")
	case o.Policies.Restarts() && (children || o.MaxParallel > 0):
		return fail(restartsParent)
	}
	return nil
}

// Rules returns what the task was given about errors at its submission: nothing for a task that has the rules of its kind, which are
// in the code of its workers, and for one that does not exist.
func (c *Client) Rules(ctx context.Context, id ID) (taskpolicy.Rules, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return taskpolicy.Rules{}, err
	}
	o, err := op.TaskOptions(ctx, id)
	if err != nil {
		return taskpolicy.Rules{}, c.public(ctx, err)
	}
	return taskpolicy.Rules{Strategy: o.Strategy, Policies: o.Policies, Fired: o.PolicyState.Fired}, nil
}
