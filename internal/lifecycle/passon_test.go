package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// What the request that stands on a parent does to a child: see testdata/requests.txt for the
// words. passed: the child is paused because its parent was. busy: never claimed, with open
// children of its own.
const passOnTable = `
child             standing  stop       delete     pause     none
QUEUED new        none      ended      removed    recorded  -
QUEUED new        PAUSE     ended      removed    -         -
QUEUED new        passed    ended      removed    -         withdrawn
QUEUED new        STOP      -          removed    -         -
QUEUED new        DELETE    -          -          -         -
QUEUED busy       none      expedited  expedited  recorded  -
QUEUED busy       PAUSE     expedited  expedited  -         -
QUEUED busy       passed    expedited  expedited  -         withdrawn
QUEUED busy       STOP      -          expedited  -         -
QUEUED busy       DELETE    -          -          -         -
QUEUED again      none      expedited  expedited  recorded  -
QUEUED again      PAUSE     expedited  expedited  -         -
QUEUED again      passed    expedited  expedited  -         withdrawn
QUEUED again      STOP      -          expedited  -         -
QUEUED again      DELETE    -          -          -         -
SCHEDULING claimed none     recorded   recorded   recorded  -
SCHEDULING claimed PAUSE    recorded   recorded   -         -
SCHEDULING claimed passed   recorded   recorded   -         withdrawn
SCHEDULING claimed STOP     -          recorded   -         -
SCHEDULING claimed DELETE   -          -          -         -
EXECUTING begun   none      recorded   recorded   recorded  -
EXECUTING begun   PAUSE     recorded   recorded   -         -
EXECUTING begun   passed    recorded   recorded   -         withdrawn
EXECUTING begun   STOP      -          recorded   -         -
EXECUTING begun   DELETE    -          -          -         -
COMPLETED ended   none      -          removed    -         -
ERROR ended       none      -          removed    -         -
FAILURE ended     none      -          removed    -         -
`

func TestPassOn(t *testing.T) {
	t.Parallel()
	actions := map[lifecycle.Control]lifecycle.Action{
		lifecycle.Stop: lifecycle.ActStop, lifecycle.Delete: lifecycle.ActDelete, lifecycle.Pause: lifecycle.ActPause, lifecycle.None: lifecycle.ActResume,
	}
	lines := strings.Split(strings.TrimSpace(passOnTable), "\n")[1:]
	for _, line := range lines {
		words := strings.Fields(line)
		child := lifecycle.Found{Status: lifecycle.Status(words[0]), Fence: 2}
		if words[1] == "new" || words[1] == "busy" {
			child.Fence, child.HasOpenChildren = 0, words[1] == "busy"
		}
		child.Passed = words[2] == "passed"
		switch words[2] {
		case "none":
		case "passed":
			child.Control = lifecycle.Pause
		default:
			child.Control = lifecycle.Control(words[2])
		}
		for i, parent := range []lifecycle.Control{lifecycle.Stop, lifecycle.Delete, lifecycle.Pause, lifecycle.None} {
			for _, served := range []bool{false, true} {
				child.Served = served
				c, action := lifecycle.PassOn(parent, child)
				if got := word(child.Control, c); got != words[3+i] {
					t.Errorf("%q on the parent, child %s: got %s, want %s", parent, line, got, words[3+i])
				}
				if action != actions[parent] {
					t.Errorf("%q is passed on as %s", parent, action)
				}
				if c.Effect == lifecycle.Unchanged && c.Control != child.Control {
					t.Errorf("%q on the parent, child %s: unchanged with %q", parent, line, c.Control)
				}
			}
		}
	}
}

// What is passed on is a legal change of the row.
func TestPassOnRows(t *testing.T) {
	t.Parallel()
	every(func(r lifecycle.Row) {
		for _, parent := range lifecycle.Controls() {
			c, _ := lifecycle.PassOn(parent, lifecycle.Found{Status: r.Status, Control: r.Control, Passed: true, Fence: r.Fence})
			got, exists := r.Request(c, uuid.Max, lifecycle.ReasonParent, now)
			if exists {
				possible(t, "a request that is passed on", r, got)
			}
			if again, _ := lifecycle.PassOn(parent, lifecycle.Found{Status: got.Status, Control: got.Control, Passed: true, Fence: got.Fence}); exists && again.Effect != lifecycle.Unchanged {
				t.Errorf("%q over %s with %q changes it twice", parent, r.Status, r.Control)
			}
		}
	})
}

func TestOpenStatuses(t *testing.T) {
	t.Parallel()
	want := []lifecycle.Status{lifecycle.Queued, lifecycle.Scheduling, lifecycle.Executing}
	if got := lifecycle.OpenStatuses(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A task with open children does not end by a request before them.
func TestOpenChildren(t *testing.T) {
	t.Parallel()
	for _, f := range []lifecycle.Found{
		{Status: lifecycle.Queued, Served: true}, {Status: lifecycle.Queued, Fence: 2},
	} {
		for a, control := range map[lifecycle.Action]lifecycle.Control{lifecycle.ActStop: lifecycle.Stop, lifecycle.ActDelete: lifecycle.Delete} {
			f.Control, f.HasOpenChildren = lifecycle.None, true
			c, err := lifecycle.Decide(f, a)
			if err != nil || c.Effect != lifecycle.Expedited || c.Control != control {
				t.Errorf("%s of %+v: %+v, %v", a, f, c, err)
			}
			f.Control = control
			if c := lifecycle.DecideUnattended(f); c.Effect != lifecycle.Unchanged || c.Control != control {
				t.Errorf("the reaper about %+v: %+v", f, c)
			}
			f.HasOpenChildren = false
			if c := lifecycle.DecideUnattended(f); c.Effect == lifecycle.Unchanged {
				t.Errorf("the reaper does nothing about %+v", f)
			}
		}
	}
}

func TestWake(t *testing.T) {
	t.Parallel()
	every(func(r lifecycle.Row) {
		want := r
		want.NotBefore, want.WaitingReason = now, lifecycle.ReasonChildrenEnded
		if got := r.Wake(now, lifecycle.ReasonChildrenEnded); show(got) != show(want) {
			t.Errorf("%s:\n got %s\nwant %s", r.Status, show(got), show(want))
		}
	})
}

// A request to end makes a wait due at once, unless the task ends next.
func TestWaitForChildren(t *testing.T) {
	t.Parallel()
	forever := now.Add(1000 * time.Hour)
	for _, control := range lifecycle.Controls() {
		for reason, sleeps := range map[string]bool{lifecycle.ReasonChildren: false, lifecycle.ReasonEndingChildren: true} {
			r := row(lifecycle.Executing, control)
			got, exists := r.Write(lifecycle.Write{To: lifecycle.Queued, At: forever, Reason: reason}, now)
			want := forever
			if control.Ends() && !sleeps {
				want = now
			}
			if !exists || !got.NotBefore.Equal(want) || got.Stalled != control.Ends() || got.WaitingReason != reason || got.Control != control {
				t.Errorf("%q with %q: due at %v, want %v; %s", control, reason, got.NotBefore, want, show(got))
			}
		}
	}
}
