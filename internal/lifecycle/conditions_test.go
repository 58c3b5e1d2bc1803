package lifecycle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

func TestParseStopPolicy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lifecycle.StopPolicy{
		"1": {Failed: 1}, "100": {Failed: 100}, "1%": {Percent: 1}, "5%": {Percent: 5}, "2.5%": {Percent: 2.5}, "99.99%": {Percent: 99.99}, "100%": {Percent: 100},
	} {
		got, err := lifecycle.ParseStopPolicy(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: got %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+5", "1.5", " 5", "5 %", "%", "0%", "0.99%", "100.01%", "101%", "5%%", "1.234%", ".5%", "5.%", "1e2", "0x10", "many", "NaN%", "Inf%", "99999999999999999999",
	} {
		if got, err := lifecycle.ParseStopPolicy(text); err == nil || got != (lifecycle.StopPolicy{}) || !strings.Contains(err.Error(), lifecycle.StopPolicyRule) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestStopPolicyReached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy                string
		done, failed, skipped int64
		want                  bool
	}{
		{"3", 0, 2, 9, false},
		{"3", 0, 3, 0, true},
		{"5%", 0, 19, 0, false}, // too few to tell
		{"5%", 18, 1, 0, false},
		{"5%", 19, 1, 0, true},
		{"5%", 10, 1, 9, true},
		{"5%", 20, 1, 0, false},
		{"2.5%", 39, 1, 0, true},
		{"2.5%", 40, 1, 0, false},
		{"100%", 1, 99, 0, false},
		{"100%", 0, 100, 0, true},
		{"1%", 1 << 60, 1 << 50, 0, false},
		{"1%", 1 << 60, 1 << 54, 0, true},
	} {
		p, err := lifecycle.ParseStopPolicy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Reached(lifecycle.Progress{Done: c.done, Failed: c.failed, Skipped: c.skipped}); got != c.want {
			t.Errorf("%+v: reached is %t", c, got)
		}
	}
	if (lifecycle.StopPolicy{}).Reached(lifecycle.Progress{Failed: 1000}) {
		t.Error("a task without a policy has reached it")
	}
}

// A write that brings a task to a limit is one that must be checked.
func TestMustCheck(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"1", "7", "1%", "30%"} {
		p, err := lifecycle.ParseStopPolicy(policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, canary := range []int64{0, 10} {
			stored := lifecycle.Conditions{StopAfter: p, Canary: canary}
			known := lifecycle.Conditions{Canary: canary} // the policy came later
			const d, f = 26, 10                           // all steps of fewer items
			for n := range d * f * d * f {
				from := lifecycle.Progress{Done: int64(n % d), Failed: int64(n / d % f)}
				to := lifecycle.Progress{Done: from.Done + int64(n/d/f%d), Failed: from.Failed + int64(n/d/f/d)}
				if stored.PauseReason(from) == "" && stored.PauseReason(to) != "" && !known.MustCheck(from, to) {
					t.Fatalf("policy %s, canary %d: from %+v to %+v is not checked", policy, canary, from, to)
				}
			}
		}
	}
	if (lifecycle.Conditions{}).MustCheck(lifecycle.Progress{Done: 100, Failed: 3}, lifecycle.Progress{Done: 200, Failed: 3}) {
		t.Error("a checkpoint without failures is checked")
	}
	if (lifecycle.Conditions{Canary: 10, Approved: true}).MustCheck(lifecycle.Progress{}, lifecycle.Progress{Done: 20}) {
		t.Error("a checkpoint of an approved task is checked")
	}
}

func TestConditionsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		conditions lifecycle.Conditions
		processed  int64
		want       int
	}{
		{lifecycle.Conditions{}, 0, 100},
		{lifecycle.Conditions{Canary: 10}, 0, 10},
		{lifecycle.Conditions{Canary: 10}, 7, 3},
		{lifecycle.Conditions{Canary: 1000}, 7, 100},
		{lifecycle.Conditions{Canary: 10, Approved: true}, 10, 100},
		{lifecycle.Conditions{Approval: true}, 0, 100},
	} {
		if got := c.conditions.Limit(100, lifecycle.Progress{Done: c.processed}); got != c.want {
			t.Errorf("%+v: limit %d", c, got)
		}
	}
}

// What the conditions of a task change about the requests of it.
func TestDecideConditions(t *testing.T) {
	t.Parallel()
	var (
		over     = lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 3}}
		canary   = lifecycle.Conditions{Canary: 5}
		approval = lifecycle.Conditions{Approval: true}
		both     = lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 3}, Canary: 5}
	)
	approved := approval
	approved.Approved = true
	for _, c := range []struct {
		name       string
		conditions lifecycle.Conditions
		processed  int64
		control    lifecycle.Control
		own        bool
		action     lifecycle.Action
		want       string // the word, or what the refusal says
	}{
		{"over its limit", over, 9, lifecycle.Pause, false, lifecycle.ActResume, "the limit is 3: set a higher limit"},
		{"over its limit", over, 9, lifecycle.Pause, false, lifecycle.ActApprove, "does not wait for approval: resume it"},
		{"over its limit", over, 9, lifecycle.Pause, false, lifecycle.ActStop, "expedited"},
		{"over its limit", over, 9, lifecycle.Pause, false, lifecycle.ActDelete, "expedited"},
		{"over its limit", over, 9, lifecycle.Pause, false, lifecycle.ActChange, "-"},
		{"over a new limit", over, 9, lifecycle.None, false, lifecycle.ActChange, "recorded"},
		{"to be stopped", over, 9, lifecycle.Stop, false, lifecycle.ActChange, "refused"},
		{"at its canary", canary, 5, lifecycle.Pause, false, lifecycle.ActResume, "after its first 5 items: approve it"},
		{"at its canary", canary, 5, lifecycle.Pause, true, lifecycle.ActApprove, "withdrawn"},
		{"at its canary", canary, 5, lifecycle.Pause, true, lifecycle.ActStop, "expedited"},
		{"at its canary", canary, 5, lifecycle.Pause, true, lifecycle.ActDelete, "expedited"},
		{"before its canary", canary, 4, lifecycle.Pause, false, lifecycle.ActResume, "withdrawn"},
		{"before its canary", canary, 4, lifecycle.Pause, false, lifecycle.ActApprove, "does not wait for approval"},
		{"not yet paused", canary, 5, lifecycle.None, false, lifecycle.ActApprove, "refused"},
		{"not begun", approval, 0, lifecycle.Pause, false, lifecycle.ActResume, "before its first batch, by a second person: approve it"},
		{"not begun", approval, 0, lifecycle.Pause, true, lifecycle.ActApprove, "must come from somebody other"},
		{"not begun", approval, 0, lifecycle.Pause, false, lifecycle.ActApprove, "withdrawn"},
		{"approved", approved, 0, lifecycle.Pause, false, lifecycle.ActApprove, "does not wait for approval"},
		{"approved", approved, 0, lifecycle.Pause, true, lifecycle.ActResume, "withdrawn"},
		{"at its canary and over its limit", both, 5, lifecycle.Pause, false, lifecycle.ActApprove, "the limit is 3"},
		{"at its canary and over its limit", both, 5, lifecycle.Pause, false, lifecycle.ActResume, "approve it"},
	} {
		f := lifecycle.Found{
			Status: lifecycle.Queued, Control: c.control, Fence: 2, WorkerAlive: true, Served: true, Conditions: c.conditions, Own: c.own,
			Progress: lifecycle.Progress{Done: c.processed - min(c.processed, 3), Failed: min(c.processed, 3)},
		}
		change, err := lifecycle.Decide(f, c.action)
		got := word(c.control, change)
		if refusal, ok := errors.AsType[*lifecycle.RefusedError](err); ok {
			got = "refused"
			if refusal.Why != "" {
				got = refusal.Error()
			}
			if refusal.Condition != conditionIn(refusal.Why) {
				t.Errorf("%s: %s, own %t: the condition is %q: %s", c.name, c.action, c.own, refusal.Condition, got)
			}
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, own %t: %s, want %s", c.name, c.action, c.own, got, c.want)
		}
	}
}

// conditionIn is the condition that a text is about.
func conditionIn(why string) lifecycle.Condition {
	for text, c := range map[string]lifecycle.Condition{
		": approve it": lifecycle.NeedsApproval, "does not wait for approval": lifecycle.NeedsNoApproval,
		"must come from somebody other": lifecycle.NeedsSecondPerson, "set a higher limit": lifecycle.LimitReached,
	} {
		if strings.Contains(why, text) {
			return c
		}
	}
	return ""
}

// A task that is paused by its conditions has nobody who paused it, and what stands on it
// says why.
func TestPause(t *testing.T) {
	t.Parallel()
	c := lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Percent: 5}, Canary: 40, Approval: true}
	reason := c.PauseReason(lifecycle.Progress{Done: 38, Failed: 2})
	if want := "it waits for approval after its first 40 items, by a second person; 2 of 40 processed items have failed, and the limit is 5%"; reason != want {
		t.Errorf("paused because %s, want %s", reason, want)
	}
	before := row(lifecycle.Executing, lifecycle.None)
	after := before.Pause(reason)
	possible(t, "pause", before, after)
	if got := fmt.Sprint(after.Control, after.ControlBy, after.ControlReason); got != fmt.Sprint(lifecycle.Pause, uuid.Nil, reason) {
		t.Errorf("the row is %s", got)
	}
	f := lifecycle.Found{Status: lifecycle.Executing, Fence: 1, WorkerAlive: true, Conditions: c, Progress: lifecycle.Progress{Done: 38, Failed: 2}}
	change, err := lifecycle.Decide(f, lifecycle.ActChange)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := before.Request(change, uuid.Max, "too many", now); after.ControlBy != uuid.Max || after.ControlReason != "2 of 40 processed items have failed, and the limit is 5%" {
		t.Errorf("a limit that is reached already leaves %v, %q", after.ControlBy, after.ControlReason)
	}
}
