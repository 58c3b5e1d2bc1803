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
		deferred   []int // positions
		want       int64
	}{
		"before the first checkpoint": {false, lifecycle.Progress{Total: -1}, lifecycle.Error, nil, 1},
		"at an element":               {true, lifecycle.Progress{Total: 5, Position: 3, Done: 2, Failed: 1}, lifecycle.Failure, nil, 4},
		"at the last element":         {true, lifecycle.Progress{Total: 5, Position: 4, Done: 4}, lifecycle.Error, nil, 5},
		"after the last element":      {true, lifecycle.Progress{Total: 5, Position: 5, Done: 5}, lifecycle.Failure, nil, 0},
		"without Take":                {true, lifecycle.Progress{Total: 5, Done: 3}, lifecycle.Error, nil, 0},
		"of a task that is done":      {true, lifecycle.Progress{Total: 5, Position: 3, Done: 3}, lifecycle.Completed, nil, 0},
		"after a deferred element":    {true, lifecycle.Progress{Total: 5, Position: 3, Deferred: true, Done: 2}, lifecycle.Error, []int{2}, 4},
		"at a deferred element":       {true, lifecycle.Progress{Total: 5, Round: 1, Done: 3}, lifecycle.Error, []int{4, 2}, 2},
		"between deferred elements":   {true, lifecycle.Progress{Total: 5, Position: 2, Round: 1, Deferred: true, Done: 3}, lifecycle.Error, []int{2, 4}, 4},
		"after the deferred elements": {true, lifecycle.Progress{Total: 5, Position: 4, Round: 1, Done: 4}, lifecycle.Error, []int{2}, 0},
	} {
		c := e.claimedTask()
		if tc.checkpoint {
			var items []store.Item
			for _, p := range tc.deferred {
				items = append(items, deferredItem(p, 1))
			}
			is(e, name+": written", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, Progress: tc.progress, Items: items}).OK, true)
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

		if row := rowOf(before); tc.want == 0 {
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
		sameRow(e, name, e.read(c.ID), row.SkipItem(tc.want), before.Created)
		is(e, name+": returned progress", got.Progress, row.SkipItem(tc.want).Progress)
		is(e, name+": failed items and events", fmt.Sprint(len(failures), len(events)), "1 1")
		want := store.SkippedItem(tc.want)
		if tc.progress.Round > 0 {
			want.Key = deferredItem(int(tc.want), 1).Key
		}
		f := failures[0]
		is(e, name+": failed item", fmt.Sprint(f.Key, f.Code, f.Detail, f.Position, f.Attempt), fmt.Sprint(want.Key, want.Code, want.Detail, tc.want, 0))
		e.removeTasks()
	}
}
