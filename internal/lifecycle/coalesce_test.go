package lifecycle_test

import (
	"encoding/json"
	"testing"

	"taskkit.dev/internal/lifecycle"
)

func TestCoalescible(t *testing.T) {
	t.Parallel()
	half := func(r lifecycle.Row) lifecycle.Row { r.State = json.RawMessage(`{"at": 1}`); return r }
	queued := lifecycle.Row{Status: lifecycle.Queued, State: json.RawMessage("{}")}
	counted := queued
	counted.Progress.Skipped = 1
	for name, c := range map[string]struct {
		row    lifecycle.Row
		failed bool
		want   bool
	}{
		"never begun":                {queued, false, true},
		"failed at once":             {queued, true, true},
		"half done":                  {half(queued), false, false},
		"half done by its counters":  {counted, false, false},
		"half done, and failed":      {half(queued), true, true},
		"paused":                     {lifecycle.Row{Status: lifecycle.Queued, Control: lifecycle.Pause}, false, true},
		"to be stopped":              {lifecycle.Row{Status: lifecycle.Queued, Control: lifecycle.Stop}, true, false},
		"to be deleted":              {lifecycle.Row{Status: lifecycle.Queued, Control: lifecycle.Delete}, true, false},
		"claimed":                    {lifecycle.Row{Status: lifecycle.Scheduling}, true, false},
		"executing, failed and half": {half(lifecycle.Row{Status: lifecycle.Executing}), true, false},
		"ended in FAILURE":           {lifecycle.Row{Status: lifecycle.Failure}, true, false},
	} {
		if got := c.row.Coalescible(c.failed); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
