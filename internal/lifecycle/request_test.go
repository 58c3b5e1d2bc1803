package lifecycle_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// cases returns the lines of testdata/requests.txt: the task and the request
// that stands, and what it says of each column.
func cases(t *testing.T) (found []lifecycle.Found, said []map[string]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if columns == nil {
			if len(words) > 1 && words[0] == "task" && words[1] == "standing" {
				columns = words[2:]
			}
			continue
		}
		f := lifecycle.Found{Status: lifecycle.Status(words[0]), Fence: 2, WorkerAlive: true, Served: true}
		if f.Status == lifecycle.Queued {
			switch words[1] {
			case "new":
				f.Fence = 0
			case "unserved":
				f.Served = false
			}
			words = words[1:]
		}
		if words[1] != "none" {
			f.Control = lifecycle.Control(words[1])
		}
		says := make(map[string]string)
		for i, column := range columns {
			says[column] = words[2+i]
		}
		found, said = append(found, f), append(said, says)
	}
	// Two kinds of waiting tasks beside the new ones.
	if want := (len(lifecycle.Statuses()) + 2) * len(lifecycle.Controls()); len(found) != want {
		t.Fatalf("testdata/requests.txt has %d lines, want one for each of %d cases", len(found), want)
	}
	return found, said
}

// word is the table's word for a change.
func word(before lifecycle.Control, c lifecycle.Change) string {
	switch c.Effect {
	case lifecycle.Unchanged:
		return "-"
	case lifecycle.Recorded:
		if c.Control == lifecycle.None && before != lifecycle.None {
			return "withdrawn"
		}
		return "recorded"
	case lifecycle.Expedited:
		return "expedited"
	case lifecycle.Ended:
		return "ended"
	case lifecycle.Requeued:
		return "requeued"
	case lifecycle.Removed:
		return "removed"
	}
	return "no such effect"
}

func TestDecide(t *testing.T) {
	t.Parallel()
	asks := map[lifecycle.Action]lifecycle.Control{
		lifecycle.ActStop: lifecycle.Stop, lifecycle.ActPause: lifecycle.Pause, lifecycle.ActDelete: lifecycle.Delete,
	}
	found, said := cases(t)
	for i, f := range found {
		for _, a := range lifecycle.Actions() {
			c, err := lifecycle.Decide(f, a)
			got := word(f.Control, c)
			if refusal, ok := errors.AsType[*lifecycle.RefusedError](err); ok {
				got = "refused"
				if refusal.Why != "" && (a != lifecycle.ActApprove || f.Control != lifecycle.Pause) {
					t.Errorf("%s of %+v: refused because %s", a, f, refusal.Why)
				}
				refusal.Why, refusal.Condition = "", ""
				if *refusal != (lifecycle.RefusedError{Action: a, Status: f.Status, Control: f.Control}) {
					t.Errorf("%s of %+v: refused as %+v", a, f, *refusal)
				}
			}
			if want := said[i][string(a)]; got != want {
				t.Errorf("%s of %+v: %s (%v), want %s", a, f, got, err, want)
			}
			control := asks[a]
			switch c.Effect {
			case lifecycle.Unchanged:
				control = f.Control
			case lifecycle.Ended:
				control = lifecycle.None
			default:
			}
			if c.Control != control {
				t.Errorf("%s of %+v: %q stands afterwards, want %q", a, f, c.Control, control)
			}
		}
	}
	if _, err := lifecycle.Decide(lifecycle.Found{Status: lifecycle.Queued}, "explode"); err == nil {
		t.Error("an unknown action was accepted")
	}
}

func TestDecideUnattended(t *testing.T) {
	t.Parallel()
	found, said := cases(t)
	for i, f := range found {
		if got := word(f.Control, lifecycle.DecideUnattended(f)); got != said[i]["reaper"] {
			t.Errorf("the reaper finds %+v: %s, want %s", f, got, said[i]["reaper"])
		}
	}
}

// A request of a task whose worker is gone is decided after its release.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for _, s := range lifecycle.Statuses() {
		for _, alive := range []bool{false, true} {
			want := s.InFlight() && !alive
			if got := (lifecycle.Found{Status: s, WorkerAlive: alive}).Abandoned(); got != want {
				t.Errorf("%s, worker alive %v: abandoned is %v", s, alive, got)
			}
		}
	}
}

// The row after each effect, on every row on which Decide and DecideUnattended may have it.
func TestRequest(t *testing.T) {
	t.Parallel()
	actor := uuid.New()
	sets := map[lifecycle.Effect]func(*lifecycle.Row){
		lifecycle.Unchanged: func(*lifecycle.Row) {},
		lifecycle.Recorded:  func(*lifecycle.Row) {},
		lifecycle.Expedited: func(r *lifecycle.Row) { r.NotBefore, r.Stalled = now, true },
		lifecycle.Ended: func(r *lifecycle.Row) {
			r.Status, r.Partial, r.Stopped, r.WaitingReason = lifecycle.Completed, true, new(now), ""
		},
		lifecycle.Requeued: func(r *lifecycle.Row) {
			r.Status, r.Stopped, r.Attempts, r.NotBefore, r.Stalled, r.WaitingReason = lifecycle.Queued, nil, 0, now, false, "retried"
		},
	}
	check := func(f lifecycle.Found, c lifecycle.Change) {
		before := row(f.Status, f.Control)
		before.Fence, before.Stalled = f.Fence, f.Status.Terminal()
		after, exists := before.Request(c, actor, "because", now)
		if exists != (c.Effect != lifecycle.Removed) {
			t.Errorf("%+v of %+v: exists is %v", c, f, exists)
		}
		if !exists {
			return
		}
		want := before
		sets[c.Effect](&want)
		if c.Effect == lifecycle.Ended {
			if c.Desc == "" {
				t.Errorf("%+v of %+v says nothing", c, f)
			}
			want.Desc = c.Desc
		}
		if c.Effect != lifecycle.Unchanged {
			want.Control, want.ControlBy, want.ControlReason = c.Control, uuid.Nil, ""
			if c.Control != lifecycle.None {
				want.ControlBy, want.ControlReason = actor, "because"
			}
		}
		if show(after) != show(want) {
			t.Errorf("%+v of %+v:\n got %s\nwant %s", c, f, show(after), show(want))
		}
		possible(t, "request", before, after)
	}
	found, _ := cases(t)
	for _, f := range found {
		check(f, lifecycle.DecideUnattended(f))
		for _, a := range lifecycle.Actions() {
			if c, err := lifecycle.Decide(f, a); err == nil {
				check(f, c)
			}
		}
	}
}
