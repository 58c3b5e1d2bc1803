package lifecycle_test

import (
	"testing"

	"taskkit.dev/internal/lifecycle"
)

func TestReadBack(t *testing.T) {
	t.Parallel()
	var (
		checkpoint = lifecycle.Write{Fence: 3, Seq: 7, To: lifecycle.Executing, Checkpoint: true}
		last       = lifecycle.Write{Fence: 3, Seq: 7, To: lifecycle.Completed, Checkpoint: true}
		release    = lifecycle.Write{Fence: 3, Seq: 7, To: lifecycle.Queued}
		failure    = lifecycle.Write{Fence: 3, Seq: 7, To: lifecycle.Failure}
	)
	found := func(fence, seq int64, s lifecycle.Status) lifecycle.Position {
		return lifecycle.Position{Exists: true, Fence: fence, Seq: seq, Status: s}
	}
	for name, tc := range map[string]struct {
		w    lifecycle.Write
		p    lifecycle.Position
		want lifecycle.Proof
	}{
		"checkpoint made":                  {checkpoint, found(3, 8, lifecycle.Executing), lifecycle.Happened},
		"checkpoint not made":              {checkpoint, found(3, 7, lifecycle.Executing), lifecycle.NotYet},
		"checkpoint not made, taken over":  {checkpoint, found(4, 7, lifecycle.Executing), lifecycle.Lost},
		"checkpoint made, then taken over": {checkpoint, found(4, 8, lifecycle.Scheduling), lifecycle.Lost},
		"checkpoint not made, reaped":      {checkpoint, found(3, 7, lifecycle.Queued), lifecycle.Lost},
		"end made":                         {last, found(3, 8, lifecycle.Completed), lifecycle.Happened},
		"end after a late checkpoint":      {last, found(3, 8, lifecycle.Executing), lifecycle.Lost},
		"end made, then retried":           {last, found(3, 8, lifecycle.Queued), lifecycle.Happened},
		"end made and row removed":         {last, lifecycle.Position{}, lifecycle.Happened},
		"release made":                     {release, found(3, 7, lifecycle.Queued), lifecycle.Happened},
		"release not made":                 {release, found(3, 7, lifecycle.Executing), lifecycle.NotYet},
		"row removed before a release":     {release, lifecycle.Position{}, lifecycle.Lost},
		"failure made":                     {failure, found(3, 7, lifecycle.Failure), lifecycle.Happened},
		"failure after a late checkpoint":  {failure, found(3, 8, lifecycle.Executing), lifecycle.Lost},
	} {
		if got := lifecycle.ReadBack(tc.w, tc.p); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// position is what a read-back finds of a row.
func position(r lifecycle.Row, exists bool) lifecycle.Position {
	return lifecycle.Position{Exists: exists, Fence: r.Fence, Seq: r.Seq, Status: r.Status}
}

// For every write on every row: a read-back right after the write, made or not,
// proves what is true.
func TestReadBackIsTrue(t *testing.T) {
	t.Parallel()
	every(func(before lifecycle.Row) {
		writes(func(w lifecycle.Write) {
			if !before.Accepts(w) || before.Status == w.To && !w.Checkpoint {
				return // a second start is as good as the first
			}
			if got := lifecycle.ReadBack(w, position(before, true)); got != lifecycle.NotYet {
				t.Errorf("%s with control %q, write %+v not made: %d", before.Status, before.Control, w, got)
			}
			after, exists := before.Write(w, now)
			if got := lifecycle.ReadBack(w, position(after, exists)); got != lifecycle.Happened {
				t.Errorf("%s with control %q, write %+v made: %d", before.Status, before.Control, w, got)
			}
			lost := before.ReleaseAsLost(now)
			if !before.Claimable() && w.To == lifecycle.Queued && !w.Checkpoint {
				return // it waits again, whoever gave it back
			}
			if got := lifecycle.ReadBack(w, position(lost, true)); got != lifecycle.Lost {
				t.Errorf("%s with control %q, taken back before write %+v: %d", before.Status, before.Control, w, got)
			}
			if got := lifecycle.ReadBack(w, position(lost.Claim("q", now), true)); got != lifecycle.Lost {
				t.Errorf("%s with control %q, taken over before write %+v: %d", before.Status, before.Control, w, got)
			}
		})
	})
}

func TestLeased(t *testing.T) {
	t.Parallel()
	every(func(r lifecycle.Row) {
		for fence := int64(1); fence <= 3; fence++ {
			want := fence == 2 && (r.Status == lifecycle.Scheduling || r.Status == lifecycle.Executing)
			if got := position(r, true).Leased(fence); got != want {
				t.Errorf("%s, fence %d: leased is %v, want %v", r.Status, fence, got, want)
			}
			if position(r, false).Leased(fence) {
				t.Errorf("%s, fence %d: a row that does not exist is leased", r.Status, fence)
			}
			for seq := int64(4); seq <= 6; seq++ {
				if got := r.LeasedTo(fence, seq); got != (want && seq == 5) {
					t.Errorf("%s: leased to fence %d, checkpoint_seq %d: %v", r.Status, fence, seq, got)
				}
			}
		}
	})
}
