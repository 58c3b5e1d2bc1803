package storetest

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// requestSkip: a retry records the element that Take returns next as a failed item. It
// changes nothing where there is none, or where the retry itself is refused.
func requestSkip(e *env) {
	e.registerWorker()
	for name, tc := range map[string]struct {
		checkpoint bool
		progress   lifecycle.Progress
		to         lifecycle.Status
	}{
		"before the first checkpoint": {false, lifecycle.Progress{Total: -1}, lifecycle.Error},
		"at an element":               {true, lifecycle.Progress{Total: 5, Taken: 3, Done: 2, Failed: 1}, lifecycle.Failure},
		"at the last element":         {true, lifecycle.Progress{Total: 5, Taken: 4, Done: 4}, lifecycle.Error},
		"after the last element":      {true, lifecycle.Progress{Total: 5, Taken: 5, Done: 5}, lifecycle.Failure},
		"without Take":                {true, lifecycle.Progress{Total: 5, Done: 3}, lifecycle.Error},
		"of a task that is done":      {true, lifecycle.Progress{Total: 5, Taken: 3, Done: 3}, lifecycle.Completed},
	} {
		c := e.claimedTask()
		if tc.checkpoint {
			is(e, name+": written", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, Progress: tc.progress}).OK, true)
			c.Seq++
		}
		is(e, name+": ended", e.apply(store.Write{Lease: c.Lease, To: tc.to, Attempts: 3}).OK, true)
		before := e.read(c.ID)
		actor := uuid.New()
		got, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActRetry, Skip: true, Actor: actor, Reason: "because"})
		failures, ferr := e.s.Items(e.ctx(), c.ID, store.ItemFailed, store.ItemCursor{}, 10)
		e.ok(ferr)
		events, eerr := e.s.Events(e.ctx(), c.ID, 10)
		e.ok(eerr)

		if row := rowOf(before); tc.to == lifecycle.Completed || !row.CanSkip() {
			var state *store.StateError
			if tc.to == lifecycle.Completed && !errors.As(err, &state) || tc.to != lifecycle.Completed && !errors.Is(err, store.ErrNoSkip) {
				e.Fatalf("%s: got %v, want it refused", name, err)
			}
			is(e, name+": failed items and events", fmt.Sprint(len(failures), len(events)), "0 0")
			sameRow(e, name, e.read(c.ID), row, before.Created)
			continue
		}
		e.ok(err)
		change, err := lifecycle.Decide(lifecycle.Found{Status: before.Status, Fence: before.Fence, WorkerAlive: true, Served: true}, lifecycle.ActRetry)
		e.ok(err)
		row, _ := rowOf(before).Request(change, actor, "because", nowInRules)
		sameRow(e, name, e.read(c.ID), row.SkipItem(), before.Created)
		is(e, name+": returned progress", got.Progress, row.SkipItem().Progress)
		is(e, name+": failed items and events", fmt.Sprint(len(failures), len(events)), "1 1")
		want := store.SkippedItem(row.Progress.Taken + 1)
		f := failures[0]
		is(e, name+": failed item", fmt.Sprint(f.Key, f.Code, f.Detail, f.Position, f.Attempt), fmt.Sprint(want.Key, want.Code, want.Detail, row.Progress.Taken+1, 0))
		e.removeTasks()
	}
}
