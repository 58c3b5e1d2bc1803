package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// The times of the tests: before, and when a rule is applied.
var (
	earlier = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now     = earlier.Add(time.Hour)
)

// row returns a row in a status, with a request standing, that was claimed
// twice and has made five checkpoints.
func row(s lifecycle.Status, c lifecycle.Control) lifecycle.Row {
	r := lifecycle.Row{
		Status: s, Control: c, Fence: 2, Seq: 5, Attempts: 3, Priority: 2,
		Scheduled: new(earlier), NotBefore: earlier, Desc: "desc", WaitingReason: "reason",
		State: []byte(`{"at":5}`), Revision: 2, SpecRevision: 1, Secrets: "/a", Progress: lifecycle.Progress{Total: 9, Done: 5},
	}
	if c != lifecycle.None {
		r.ControlBy, r.ControlReason = uuid.Max, "asked"
	}
	if s.InFlight() {
		r.Process = "p"
	}
	if s == lifecycle.Executing || s.Terminal() {
		r.Started, r.FirstStarted = new(earlier), new(earlier)
	}
	if s.Terminal() {
		r.Stopped = new(earlier)
	}
	return r
}

// show renders a row for comparison; it follows its pointers.
func show(r lifecycle.Row) string {
	times := ""
	for _, t := range []*time.Time{r.Scheduled, r.Started, r.FirstStarted, r.Stopped} {
		if t == nil {
			times += " never"
			continue
		}
		times += " " + t.Format(time.TimeOnly)
	}
	r.Scheduled, r.Started, r.FirstStarted, r.Stopped = nil, nil, nil, nil
	return fmt.Sprintf("%+v%s %s", r, times, r.State)
}

// every calls f with a row of each status and each standing request.
func every(f func(lifecycle.Row)) {
	for _, s := range lifecycle.Statuses() {
		for _, c := range lifecycle.Controls() {
			f(row(s, c))
		}
	}
}

// possible fails the test unless a rule's result is a change that the database
// would accept.
func possible(t *testing.T, what string, before, after lifecycle.Row) {
	t.Helper()
	if err := before.CheckChange(after); err != nil {
		t.Errorf("%s: %v\nbefore %s\nafter  %s", what, err, show(before), show(after))
	}
}

func TestCheckNew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*lifecycle.Row)
		want   bool
	}{
		"as submitted":     {func(*lifecycle.Row) {}, true},
		"with a request":   {func(r *lifecycle.Row) { r.Control = lifecycle.Stop }, true},
		"claimed before":   {func(r *lifecycle.Row) { r.Fence = 1 }, false},
		"with checkpoints": {func(r *lifecycle.Row) { r.Seq = 1 }, false},
		"with a process":   {func(r *lifecycle.Row) { r.Process = "p" }, false},
		"stopped":          {func(r *lifecycle.Row) { r.Stopped = new(now) }, false},
		"ended":            {func(r *lifecycle.Row) { r.Status, r.Stopped = lifecycle.Completed, new(now) }, false},
		"no status":        {func(r *lifecycle.Row) { r.Status = "NONE" }, false},
		"no request":       {func(r *lifecycle.Row) { r.Control = "NONE" }, false},
		"no priority":      {func(r *lifecycle.Row) { r.Priority = 0 }, false},
		"priority 5":       {func(r *lifecycle.Row) { r.Priority = 5 }, false},
		"attempts -1":      {func(r *lifecycle.Row) { r.Attempts = -1 }, false},
		"taken -1":         {func(r *lifecycle.Row) { r.Progress.Position = -1 }, false},
	} {
		r := lifecycle.Row{Status: lifecycle.Queued, Priority: 2}
		tc.change(&r)
		if err := r.CheckNew(); (err == nil) != tc.want {
			t.Errorf("%s: %v, want accepted to be %v", name, err, tc.want)
		}
	}
}

// Every pair of statuses, with every variant of the conditions that an edge may
// have: what passes is the table of transitions.
func TestCheckChange(t *testing.T) {
	t.Parallel()
	for _, from := range lifecycle.Statuses() {
		for _, to := range lifecycle.Statuses() {
			e, legal := lifecycle.Find(from, to)
			for _, started := range []bool{false, true} {
				for _, partial := range []bool{false, true} {
					for fences := int64(-1); fences <= 2; fences++ {
						if to == lifecycle.Executing && !started {
							continue // no such row
						}
						before, after := row(from, lifecycle.None), row(to, lifecycle.None)
						after.Partial = partial
						after.Started = nil
						if started {
							after.Started = new(now)
						}
						after.Fence = before.Fence + fences
						want := from == to && fences == 0
						if legal {
							step := int64(0)
							if e.Claimed {
								step = 1
							}
							want = fences == step && (!e.Started || started) && (!e.Partial || partial)
						}
						if err := before.CheckChange(after); (err == nil) != want {
							t.Errorf("%s to %s, started %v, partial %v, fence %+d: %v, want accepted to be %v",
								from, to, started, partial, fences, err, want)
						}
					}
				}
			}
		}
	}
	r := row(lifecycle.Executing, lifecycle.None)
	for step, want := range map[int64]bool{-1: false, 0: true, 1: true, 2: false} {
		after := r
		after.Seq += step
		if err := r.CheckChange(after); (err == nil) != want {
			t.Errorf("checkpoint_seq %+d: %v, want accepted to be %v", step, err, want)
		}
	}
}

func TestAfterLater(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		attempts   int
		progressed bool
		want       int
	}{{0, false, 0}, {1, false, 0}, {4, false, 3}, {4, true, 0}} {
		if got := lifecycle.AfterLater(tc.attempts, tc.progressed); got != tc.want {
			t.Errorf("%d attempts, progressed %v: %d, want %d", tc.attempts, tc.progressed, got, tc.want)
		}
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status         lifecycle.Status
		attempts       int
		byLeaving      int // attempts afterwards
		asLost         int
		startCommitted bool
	}{
		{lifecycle.Scheduling, 0, 0, 0, false},
		{lifecycle.Scheduling, 1, 0, 1, false}, // it may have been executed
		{lifecycle.Scheduling, 2, 1, 1, true},
		{lifecycle.Scheduling, 3, 2, 2, true},
		{lifecycle.Executing, 0, 0, 0, false}, // after a checkpoint
		{lifecycle.Executing, 1, 0, 1, false},
		{lifecycle.Executing, 2, 1, 2, true},
	} {
		for _, c := range lifecycle.Controls() {
			what := fmt.Sprintf("%s, attempts %d, control %q", tc.status, tc.attempts, c)
			if got := lifecycle.StartIsCommitted(tc.attempts); got != tc.startCommitted {
				t.Errorf("%s: start is committed: %v", what, got)
			}
			before := row(tc.status, c)
			before.Attempts = tc.attempts
			want := before
			want.Status, want.Process, want.NotBefore = lifecycle.Queued, "", now

			left := before.ReleaseByLeaving(now)
			want.Attempts, want.WaitingReason = tc.byLeaving, "its worker left"
			if show(left) != show(want) {
				t.Errorf("%s, worker left:\n got %s\nwant %s", what, show(left), show(want))
			}
			possible(t, what, before, left)

			lost := before.ReleaseAsLost(now)
			want.Attempts, want.WaitingReason, want.Stalled = tc.asLost, "its worker was lost", true
			if show(lost) != show(want) {
				t.Errorf("%s, worker lost:\n got %s\nwant %s", what, show(lost), show(want))
			}
			possible(t, what, before, lost)
		}
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	every(func(before lifecycle.Row) {
		want := before.Status == lifecycle.Queued && before.Control != lifecycle.Pause
		if got := before.Claimable(); got != want {
			t.Errorf("claimable in %s with control %q: %v, want %v", before.Status, before.Control, got, want)
		}
		if !want {
			return
		}
		before.Stalled = true
		got := before.Claim("q", now)
		after := before
		after.Status, after.Process, after.Scheduled, after.Started = lifecycle.Scheduling, "q", new(now), nil
		after.Fence, after.Attempts, after.Desc = 3, 4, ""
		if show(got) != show(after) {
			t.Errorf("claim:\n got %s\nwant %s", show(got), show(after))
		}
		possible(t, "claim", before, got)
	})
}

// Stalled tasks go first, then priority decides, then the number of failed tries.
func TestRanks(t *testing.T) {
	t.Parallel()
	for triedFirst, want := range map[bool]string{
		false: "1:1s 2:2s 3:3s 4:4s 5:1.0 9:1.1 13:1.2 17:1.3 6:2.0 10:2.1 14:2.2 18:2.3 7:3.0 11:3.1 15:3.2 19:3.3 8:4.0 12:4.1 16:4.2 20:4.3",
		true:  "1:1s 2:2s 3:3s 4:4s 17:1.3 13:1.2 9:1.1 5:1.0 18:2.3 14:2.2 10:2.1 6:2.0 19:3.3 15:3.2 11:3.1 7:3.0 20:4.3 16:4.2 12:4.1 8:4.0",
	} {
		var got []string
		for i, rank := range lifecycle.Ranks(triedFirst) {
			text := fmt.Sprintf("%d:%d.%d", rank.Number, rank.Priority, rank.Tries)
			if rank.Stalled {
				text = fmt.Sprintf("%d:%ds", rank.Number, rank.Priority)
			}
			got = append(got, text)
			if n := rank.Number; lifecycle.StalledRank(n) != rank.Stalled || lifecycle.RankPriority(n) != rank.Priority || lifecycle.RankOrders(triedFirst)[n] != i {
				t.Errorf("rank %d: stalled %t, priority %d, order %d; want %+v at %d", n, lifecycle.StalledRank(n), lifecycle.RankPriority(n), lifecycle.RankOrders(triedFirst)[n], rank, i)
			}
			for _, attempts := range []int{rank.Tries, rank.Tries + 7} {
				r := lifecycle.Row{Stalled: rank.Stalled, Priority: rank.Priority, Attempts: attempts}
				if (rank.Stalled || attempts == rank.Tries || rank.Tries == 3) && r.Rank() != rank.Number {
					t.Errorf("the rank of %+v is %d, want %d", r, r.Rank(), rank.Number)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("ranks are %s, want %s", got, want)
		}
	}
}
