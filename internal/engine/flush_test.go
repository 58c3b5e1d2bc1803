package engine

import (
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// What a task's position says about a write whose outcome is unknown.
func TestHappened(t *testing.T) {
	t.Parallel()
	hold := store.Hold{Fence: 3, Seq: 7}
	checkpoint := store.Write{Hold: hold, To: workflow.Executing, Checkpoint: true}
	last := store.Write{Hold: hold, To: workflow.Completed, Checkpoint: true}
	release := store.Write{Hold: hold, To: workflow.Queued}
	failure := store.Write{Hold: hold, To: workflow.Failure}
	at := func(fence, seq int64, s workflow.Status) store.Position {
		return store.Position{Hold: store.Hold{Fence: fence, Seq: seq}, Status: s}
	}
	for name, tc := range map[string]struct {
		w    store.Write
		p    store.Position
		gone bool
		want answer
	}{
		"checkpoint made":                  {checkpoint, at(3, 8, workflow.Executing), false, yes},
		"checkpoint not made":              {checkpoint, at(3, 7, workflow.Executing), false, notYet},
		"checkpoint not made, taken over":  {checkpoint, at(4, 7, workflow.Executing), false, never},
		"checkpoint made, then taken over": {checkpoint, at(4, 8, workflow.Scheduling), false, never},
		"checkpoint not made, reaped":      {checkpoint, at(3, 7, workflow.Queued), false, never},
		"end made":                         {last, at(3, 8, workflow.Completed), false, yes},
		"end made and row deleted":         {last, store.Position{}, true, yes},
		"release made":                     {release, at(3, 7, workflow.Queued), false, yes},
		"release not made":                 {release, at(3, 7, workflow.Executing), false, notYet},
		"row deleted before a release":     {release, store.Position{}, true, never},
		"failure made":                     {failure, at(3, 7, workflow.Failure), false, yes},
		"failure after a late checkpoint":  {failure, at(3, 8, workflow.Executing), false, never},
	} {
		if got := happened(tc.w, tc.p, !tc.gone); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
