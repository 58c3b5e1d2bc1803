package taskkit

import (
	"context"
	"fmt"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// Settings are what [Client.Change] changes of a task. Zero fields leave what there is.
type Settings struct {
	// Priority decides about the claims that follow: a running batch goes on. Buckets that
	// are submitted later have the priority below the new one; children that exist keep
	// theirs.
	Priority Priority
	// StopAfter is the stop policy, see the option [WithStopAfter]. A running task applies it
	// with its next checkpoint. A task that has already reached it is paused. A task that is
	// paused stays so: see [Client.Resume].
	StopAfter string
	// MaxRate is how many items a second the task processes, see [WithMaxRate]; a pointer to
	// 0 removes the bound. A running task applies it within 5 seconds of work. A task that
	// waits because of a lower rate becomes due.
	MaxRate *float64
	// MaxParallel is how many buckets of the task are open at once, see [WithMaxParallel]. More
	// begin at once; fewer take effect as buckets end.
	MaxParallel int
	// Policies replace the policies of the task, see [WithPolicies]; a pointer to none removes them. None of the new ones has fired. They
	// count what the task has counted before, except items deferred with a code that no policy has named until now. The
	// task must have been submitted with policies: its workers decide them from the beginning, or not at all.
	Policies *taskpolicy.Policies
}

// Change changes settings of a task that has not ended, all of them or none. It returns an
// *[OptionError] for an invalid setting, for MaxParallel of a task without buckets, for
// MaxRate of a task with buckets, which process its items, and for a policy that restarts a task with children. It returns a
// *[StateError] when the task has ended or is to end.
func (c *Client) Change(ctx context.Context, id ID, s Settings, opts ...RequestOption) (*Task, error) {
	change, err := s.request()
	if err != nil {
		return nil, err
	}
	restarts := s.Policies != nil && s.Policies.Restarts()
	if s.MaxParallel != 0 || s.MaxRate != nil || restarts {
		op, err := c.tables(ctx)
		if err != nil {
			return nil, err
		}
		buckets, ranges, err := isSplit(ctx, op, id)
		if err != nil {
			return nil, c.public(ctx, err)
		}
		children := buckets || ranges
		if restarts && !children {
			if children, err = c.wasDivided(ctx, op, id); err != nil {
				return nil, err
			}
		}
		switch {
		case !buckets && !ranges && s.MaxParallel != 0:
			return nil, &OptionError{"Settings.MaxParallel", fmt.Sprintf("task %s has no buckets and no ranges", id)}
		case (buckets || ranges) && s.MaxRate != nil:
			return nil, &OptionError{"Settings.MaxRate", fmt.Sprintf("task %s has parts, which process its items: change how many run at once with MaxParallel", id)}
		case restarts && children:
			return nil, &OptionError{"Settings.Policies", restartsParent}
		}
	}
	if s.Policies != nil {
		rules, err := c.Rules(ctx, id)
		if err != nil {
			return nil, err
		}
		if rules.Policies == nil {
			return nil, &OptionError{"Settings.Policies", fmt.Sprintf("task %s was submitted without policies, and they are decided from the beginning: submit it with WithPolicies, or use StopAfter", id)}
		}
	}
	set := requestOption(func(r *requestOptions) {
		r.Priority, r.StopAfter, r.MaxRate, r.MaxParallel = change.Priority, change.StopAfter, change.MaxRate, change.MaxParallel
		r.Policies = change.Policies
	})
	return c.request(ctx, id, lifecycle.ActChange, append([]RequestOption{set}, opts...))
}

// request checks the settings and returns the request that changes them.
func (s *Settings) request() (r store.Request, err error) {
	switch {
	case *s == Settings{}:
		return r, &OptionError{"Settings", "they are empty and change nothing"}
	case s.Priority != 0 && (s.Priority < PriorityHigh || s.Priority > PriorityIdle):
		return r, &OptionError{"Settings.Priority", fmt.Sprintf("%d is not between %d and %d", s.Priority, PriorityHigh, PriorityIdle)}
	case s.MaxParallel < 0:
		return r, &OptionError{"Settings.MaxParallel", fmt.Sprintf("%d: at least 1 bucket must be able to run; to hold the task, pause it", s.MaxParallel)}
	}
	if s.StopAfter != "" {
		if r.StopAfter, err = parseStopAfter(s.StopAfter); err != nil {
			return r, err
		}
	}
	if s.Policies != nil {
		if err := s.Policies.Check(); err != nil {
			return r, &OptionError{"Settings.Policies", err.Error()}
		}
		r.Policies = s.Policies
	}
	if s.MaxRate != nil {
		if r.MaxRate = *s.MaxRate; r.MaxRate == 0 {
			r.MaxRate = -1
		} else if problem := checkRate(r.MaxRate); problem != "" {
			return r, &OptionError{"Settings.MaxRate", problem}
		}
	}
	r.Priority, r.MaxParallel = int(s.Priority), s.MaxParallel
	return r, nil
}
