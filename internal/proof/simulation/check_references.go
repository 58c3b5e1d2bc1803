package simulation

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// checkReferences checks what the oracle does not know of submissions with a
// reference: each gives its spec to a task of the reference that waits and ends the others,
// or to a new one, in one commit; none takes the work of a task that is half done and has
// not failed since; and an executor has the spec of its claim.
func (w *env) checkReferences(ctx context.Context) (bad []string) {
	found := func(format string, args ...any) { bad = append(bad, "I20: "+fmt.Sprintf(format, args...)) }
	type claim struct {
		id    uuid.UUID
		fence int64
	}
	now := make(map[uuid.UUID]*memstore.Task)
	specs := make(map[claim]string)
	log := w.mem.Log()
	for i := 0; i < len(log); {
		end := i + 1
		for end < len(log) && log[end].Commit == log[i].Commit {
			end++
		}
		for _, c := range log[i:end] {
			switch {
			case c.After == nil:
				delete(now, c.Before.ID)
				continue
			case c.Before != nil && c.After.Fence > c.Before.Fence:
				specs[claim{c.After.ID, c.After.Fence}] = string(c.After.Spec)
			case c.By == "Insert" && c.Before != nil && !begunAnew(c) && !superseded(c, log[i].After.ID):
				found("task %s took the spec %s as %s with request %q and state %s", c.After.ID, c.After.Spec, c.Before.Status, c.Before.Control, c.After.State)
			case c.By == "Insert" && c.Before != nil && string(c.Before.State) != "{}" && w.hasNotFailed(ctx, c.Before):
				found("task %s took the spec %s, and its state %s was forgotten", c.After.ID, c.After.Spec, c.Before.State)
			}
			now[c.After.ID] = c.After
		}
		if newest := log[i].After; log[i].By == "Insert" && newest.Reference != "" {
			for id, t := range now {
				waits := t.Status == lifecycle.Queued && !t.Control.Ends() && string(t.State) == "{}"
				if waits && t.Reference == newest.Reference && t.Kind == newest.Kind && t.Delayed == newest.Delayed && string(t.Spec) != string(newest.Spec) {
					found("task %s waits with the spec %s after %s was accepted", id, t.Spec, newest.Spec)
				}
			}
		}
		i = end
	}
	for _, r := range w.mem.Rows() {
		// A spec that is in the plan is none of the row's, and is never replaced.
		if want := specs[claim{r.Lease.ID, r.Lease.Fence}]; r.Values[2] != want && want != "" {
			found("task %s touched item %v for the spec %v under fence %d, which has the spec %s", r.Lease.ID, r.Values[0], r.Values[2], r.Lease.Fence, want)
		}
	}
	slices.Sort(bad)
	return bad
}

// begunAnew reports whether a waiting task was replaced as a whole.
func begunAnew(c memstore.Change) bool {
	return c.Before.Status == lifecycle.Queued && !c.Before.Control.Ends() && c.After.Status == lifecycle.Queued &&
		string(c.After.State) == "{}" && c.After.Attempts == 0 && c.After.Fence == c.Before.Fence && c.After.Seq == c.Before.Seq
}

// superseded reports whether a waiting task was ended because another took a submission.
func superseded(c memstore.Change, by uuid.UUID) bool {
	return c.Before.Status == lifecycle.Queued && !c.Before.Control.Ends() && c.After.Status == lifecycle.Completed &&
		c.After.Desc == lifecycle.SupersededBy(by)
}

// hasNotFailed reports whether no attempt of a task that is still there has
// failed at its checkpoint.
func (w *env) hasNotFailed(ctx context.Context, t *memstore.Task) bool {
	if _, err := w.mem.Read(ctx, t.ID); err != nil {
		return false // nobody knows any more
	}
	attempts, err := w.mem.Attempts(ctx, t.ID, 1<<20)
	return err == nil && !slices.ContainsFunc(attempts, func(a store.Attempt) bool { return a.Seq == t.Seq })
}
