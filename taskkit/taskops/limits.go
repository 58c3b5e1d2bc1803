package taskops

import (
	"context"
	"fmt"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit"
)

// LimitUse says how a limit is used.
type LimitUse struct {
	Key       string `json:"key"`
	AtMost    int    `json:"at_most"`   // what holds; if the tasks differ, the smallest of theirs
	Set       bool   `json:"set"`       // by [Operator.SetLimit]
	Executing int64  `json:"executing"` // tasks with a permit
	Waiting   int64  `json:"waiting"`   // tasks that wait for one
	// MoreWaiting: at least Waiting tasks wait: 300 were read, and AtMost is the smallest of these.
	MoreWaiting bool `json:"more_waiting,omitempty"`
	// Tasks are the first tasks with a permit, by their ids, at most three.
	Tasks []LimitTask `json:"tasks,omitempty"`
}

// LimitTask is a task that has a permit of a limit.
type LimitTask struct {
	Task   taskkit.ID `json:"task"`
	Worker string     `json:"worker"` // that has claimed it
}

// Limits lists the limits that are in use or set, by their keys, after this key, at most so many.
func (o *Operator) Limits(ctx context.Context, after string, most int) ([]LimitUse, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := op.Limited(ctx, after, min(max(most, 1), 1000))
	if err != nil {
		return nil, o.public(ctx, err)
	}
	made := make([]LimitUse, len(uses))
	for i, u := range uses {
		made[i] = LimitUse{Key: u.Key, AtMost: u.AtMost, Set: u.Set, Executing: u.Executing, Waiting: u.Waiting, MoreWaiting: u.MoreWaiting}
		for _, t := range u.First {
			made[i].Tasks = append(made[i].Tasks, LimitTask{t.Task, t.Process})
		}
	}
	return made, nil
}

// SetLimit sets how many tasks with a key execute at once, whatever the tasks say. More makes
// waiting tasks due. Less ends none that execute: it takes effect as they end. 0 takes back what was set. Of
// the options only [taskkit.WithActor] and [taskkit.WithReason] are allowed. It returns an *[taskkit.OptionError] for a key that [taskkit.WithLimit] refuses.
func (o *Operator) SetLimit(ctx context.Context, key string, atMost int, opts ...taskkit.RequestOption) error {
	if problem := lifecycle.LimitProblem(key, max(atMost, 1)); problem != "" {
		return &taskkit.OptionError{Option: "SetLimit", Problem: problem}
	}
	if atMost < 0 {
		return &taskkit.OptionError{Option: "SetLimit", Problem: fmt.Sprintf("%d: use a number from 1, or 0 to take back what was set", atMost)}
	}
	op, err := o.store(ctx)
	if err != nil {
		return err
	}
	r, err := access.RequestOf(opts, "a limit is set")
	if err != nil {
		return err
	}
	return o.public(ctx, op.SetLimit(ctx, key, atMost, r.Actor, r.Reason))
}
