package notice_test

import (
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/taskkit/notice"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ops": "[ops]", "ops:ended": "[ops:ended]", "ops:dead_letter+policy,owner": "[ops:dead_letter+policy owner]", "a-b_9:late": "[a-b_9:late]",
	} {
		if got, err := notice.Parse(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is read as %v (%v), want %s", text, got, err, want)
		}
	}
	for text, problem := range map[string]string{
		"": "not the name of a target", "Ops": "not the name", "ops,": "not the name", "ops ,owner": "not the name", strings.Repeat("a", 64): "not the name",
		"ops:": `"" is no event`, "ops:end": `"end" is no event`, "ops:ended+": "is no event", "ops:finding_opened": "is no event", "ops,owner,ops:late": "target ops is named twice",
		"a" + strings.Repeat(",a", 20): "21 subscriptions",
	} {
		if got, err := notice.Parse(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q is read as %v (%v), want an error with %q", text, got, err, problem)
		}
	}
}

// A subscription has what its words stand for.
func TestHas(t *testing.T) {
	t.Parallel()
	all := []notice.Event{notice.Started, notice.Approval, notice.Canary, notice.Policy, notice.Throttled, notice.Overdue, notice.Completed, notice.Partial, notice.DeadLetter, notice.Late}
	for text, want := range map[string]string{
		"ops": "completed partial dead_letter late", "ops:ended": "completed partial dead_letter late", "ops:dead_letter": "dead_letter late", "ops:late": "late",
		"ops:approval": "approval canary", "ops:canary": "canary", "ops:started+policy": "started policy", "ops:throttled": "throttled", "ops:overdue": "overdue", "ops:partial+late": "partial late",
	} {
		s, err := notice.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var has []string
		for _, e := range all {
			if s[0].Has(e) {
				has = append(has, string(e))
			}
		}
		if got := strings.Join(has, " "); got != want {
			t.Errorf("%s has %s, want %s", text, got, want)
		}
	}
}

// The text of a directive is subscriptions.
func ExampleParse() {
	list, _ := notice.Parse("ops:dead_letter+policy,owner")
	for _, s := range list {
		fmt.Println(s.Target, s.Has(notice.DeadLetter), s.Has(notice.Completed))
	}
	// Output:
	// ops true false
	// owner true true
}
