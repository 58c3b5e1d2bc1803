package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// What a holder's write may do to the status of its task: from the row, to the
// column.
//
//	QUEUED SCHEDULING EXECUTING COMPLETED ERROR FAILURE
var acceptedTable = map[lifecycle.Status][6]bool{
	lifecycle.Queued:     {false, false, false, false, false, false},
	lifecycle.Scheduling: {true, false, true, true, true, true},
	lifecycle.Executing:  {true, false, true, true, true, true},
	lifecycle.Completed:  {false, false, false, false, false, false},
	lifecycle.Error:      {false, false, false, false, false, false},
	lifecycle.Failure:    {false, false, false, false, false, false},
}

// writes yields a write of every variant that the rules tell apart.
func writes(f func(lifecycle.Write)) {
	for _, to := range append(lifecycle.Statuses(), "NONSENSE") {
		for variant := range 8 {
			w := lifecycle.Write{Fence: 2, Seq: 5, To: to, Attempts: 1, Delay: time.Minute, Revision: 7}
			w.Checkpoint, w.Partial = variant&1 != 0, to == lifecycle.Completed && variant&2 != 0
			if variant&4 != 0 {
				w.Desc, w.Reason, w.Delay = "new desc", "new reason", -1
				w.State, w.Secrets = []byte(`{"at":6}`), "/b"
				w.Progress = lifecycle.Progress{Total: -7, Position: 1, Done: 6, Failed: 1, Skipped: 1}
			}
			f(w)
		}
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	legal := lifecycle.LeaseWrites()
	every(func(r lifecycle.Row) {
		writes(func(w lifecycle.Write) {
			to := slices.Index(lifecycle.Statuses(), w.To)
			want := to >= 0 && acceptedTable[r.Status][to]
			if got := r.Accepts(w); got != want {
				t.Errorf("%s to %s: accepted is %v, want %v", r.Status, w.To, got, want)
			}
			if got := slices.Contains(legal, lifecycle.Transition{From: r.Status, To: w.To}); got != want {
				t.Errorf("%s to %s is among the transitions: %v, want %v", r.Status, w.To, got, want)
			}
			for _, stale := range []lifecycle.Write{{Fence: 1, Seq: 5}, {Fence: 3, Seq: 5}, {Fence: 2, Seq: 4}, {Fence: 2, Seq: 6}} {
				w.Fence, w.Seq = stale.Fence, stale.Seq
				if r.Accepts(w) {
					t.Errorf("%s to %s: accepted with fence %d, checkpoint_seq %d", r.Status, w.To, w.Fence, w.Seq)
				}
			}
		})
	})
}

// The row after every write on every row that accepts it.
func TestWrite(t *testing.T) {
	t.Parallel()
	every(func(before lifecycle.Row) {
		writes(func(w lifecycle.Write) {
			if !before.Accepts(w) {
				return
			}
			what := fmt.Sprintf("%s with control %q, write %+v", before.Status, before.Control, w)
			got, exists := before.Write(w, now)
			ended := w.To == lifecycle.Completed || w.To == lifecycle.Error || w.To == lifecycle.Failure
			if removed := ended && before.Control == lifecycle.Delete; removed == exists {
				t.Errorf("%s: exists is %v", what, exists)
			}
			if !exists {
				return
			}
			want := before
			want.Status, want.Attempts, want.WaitingReason = w.To, 1, ""
			if ended {
				want.Stopped, want.Partial = new(now), w.Partial
				want.Control, want.ControlBy, want.ControlReason = lifecycle.None, uuid.Nil, ""
			}
			if w.Desc != "" {
				want.Desc = "new desc"
			}
			// Without a start before it, a batch or an end of executed work is its start too.
			if before.Status == lifecycle.Scheduling && (w.Checkpoint || w.To == lifecycle.Executing || w.To == lifecycle.Completed || w.To == lifecycle.Failure) {
				want.Started, want.FirstStarted = new(now), new(now)
			}
			if w.To != lifecycle.Executing {
				want.Process = ""
			}
			if w.Checkpoint {
				want.Seq, want.Revision, want.Progress = 6, 7, lifecycle.Progress{}
				if w.State != nil {
					want.State, want.Secrets = []byte(`{"at":6}`), "/a\n/b"
					want.Progress = lifecycle.Progress{Total: -1, Position: 1, Done: 6, Failed: 1, Skipped: 1}
				}
			}
			if w.To == lifecycle.Queued {
				want.WaitingReason = w.Reason
				if w.Delay > 0 {
					want.NotBefore = now.Add(time.Minute)
				}
				if before.Control == lifecycle.Stop || before.Control == lifecycle.Delete {
					want.NotBefore, want.Stalled = now, true
				}
			}
			if show(got) != show(want) {
				t.Errorf("%s:\n got %s\nwant %s", what, show(got), show(want))
			}
			possible(t, what, before, got)
		})
	})
}

func TestWriteDetails(t *testing.T) {
	t.Parallel()
	r := row(lifecycle.Executing, lifecycle.None)
	r.Secrets = ""
	got, _ := r.Write(lifecycle.Write{To: lifecycle.Queued, Checkpoint: true, Secrets: "/b", Attempts: -1, Delay: 1999 * time.Microsecond}, now)
	if got.Secrets != "/b" {
		t.Errorf("the first secrets are %q", got.Secrets)
	}
	if got.Attempts != 0 {
		t.Errorf("attempts are %d", got.Attempts)
	}
	if d := got.NotBefore.Sub(now); d != time.Millisecond {
		t.Errorf("due in %v, want whole milliseconds", d)
	}
}

// A release that undoes the claim of a stalled task leaves it stalled.
func TestStalledStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts int // of the row
		write    lifecycle.Write
		want     bool
	}{
		"start":                      {3, lifecycle.Write{To: lifecycle.Executing, Attempts: 3}, true},
		"release":                    {3, lifecycle.Write{To: lifecycle.Queued, Attempts: 2}, true},
		"error":                      {3, lifecycle.Write{To: lifecycle.Queued, Attempts: 3}, false},
		"release with a checkpoint":  {3, lifecycle.Write{To: lifecycle.Queued, Checkpoint: true}, false},
		"release after a checkpoint": {0, lifecycle.Write{To: lifecycle.Queued, Attempts: -1}, false},
		"end":                        {3, lifecycle.Write{To: lifecycle.Failure, Attempts: 3}, false},
	} {
		r := row(lifecycle.Executing, lifecycle.None)
		r.Stalled, r.Attempts = true, c.attempts
		if got, _ := r.Write(c.write, now); got.Stalled != c.want {
			t.Errorf("%s: stalled is %t, want %t", name, got.Stalled, c.want)
		}
		if got := r.ReleaseByLeaving(now); got.Stalled != (c.attempts > 0) {
			t.Errorf("%d attempts, its worker left: stalled is %t", c.attempts, got.Stalled)
		}
	}
}
