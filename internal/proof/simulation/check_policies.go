package simulation

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskpolicy"
)

// policies checks, after a commit in which items of children fail, that the commit with which the condition of a policy holds for
// the first time has requested what the policy does.
func (c *parentChecker) policies(id uuid.UUID, changes []memstore.Change) {
	t, plan := c.now[id], c.w.byID[id]
	_, held := c.due[id]
	if t == nil || plan == nil || len(plan.Policies) == 0 || held || !slices.ContainsFunc(changes, func(h memstore.Change) bool {
		return h.Before != nil && h.After != nil && h.After.Parent == id && h.After.Progress.Failed > h.Before.Progress.Failed
	}) {
		return
	}
	failed := int64(0)
	for _, child := range c.children[id] {
		failed += c.now[child].Progress.Failed
	}
	p := plan.Policies[0]
	if failed < p.When.Items.AtLeast {
		return
	}
	// The double leaves a row that a batch has prepared to the next decision.
	if c.due[id] = t.Status == lifecycle.Queued; !c.due[id] {
		return
	}
	c.w.seen["policy fires: "+string(p.Do)]++
	if p.Do != taskpolicy.Notify && t.Control == lifecycle.None {
		c.found(id, "%d items of its children have failed, and commit %d has not requested to %s it", failed, changes[0].Commit, p.Do)
	}
}

// fired checks that each policy whose condition has held is recorded as fired.
func (c *parentChecker) fired() {
	for id, due := range c.due {
		o, err := c.w.mem.TaskOptions(context.Background(), id)
		if due && err == nil && c.now[id] != nil && len(o.PolicyState.Fired) == 0 {
			c.found(id, "the condition of its policy has held, and the policy has not fired")
		}
	}
}
