package taskui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// Dead letters are grouped by kind and code, and a group is retried at once, or by a task where a worker makes bulk requests.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/dead?said=x", http.StatusOK).wants(t, "No task has failed.")
		one, two, other := e.submit(t, []int{-1}), e.submit(t, []int{-1}), e.submit(t, []int{-1})
		e.run(t, one, two, other)
		const odd = "a//b <i>x</i>\u202e?c=d&e+f%"
		e.exec(t, "UPDATE {s}taskkit_queued_task SET workflow_status_desc = '"+odd+": x' WHERE id = '"+other.String()+"'")

		a := e.page(t, "/tasks/dead?said=x", http.StatusOK)
		a.wants(t, "mailbox_full", ">2</a>", "a//b &lt;i&gt;x&lt;/i&gt;\uFFFD?c=d&amp;e", `href="./list?q=`, `href="./task/`+two.String()+`"`)
		a.lacks(t, "<i>")
		if a := e.operate(t, "/tasks/dead?said=x", "dead/retry", url.QueryEscape("mailbox_full"), url.Values{"of-kind": {"other"}}); a.status != http.StatusConflict {
			t.Errorf("another kind: %d\n%s", a.status, a.body)
		}
		e.done(t, e.operate(t, "/tasks/dead?said=x", "dead/retry", "mailbox_full", url.Values{"reason": {hostile}})).lacks(t, "mailbox_full")
		for _, id := range []taskkit.ID{one, two} {
			events, err := e.client.Events(t.Context(), id, 1)
			if err != nil || len(events) != 1 || events[0].Action != "retry" || events[0].Actor != e.people[admin].ID || !strings.HasPrefix(events[0].Reason, "<script>") {
				t.Errorf("%+v, %v", events, err)
			}
		}

		bulk := store.Process{ID: "bulk", Kinds: map[string][]int{taskbulk.Kind.Name(): {1}}, Queues: []string{"bulk"}, Slots: 1, DeadAfter: 1 << 40}
		e.register(t, bulk)
		done := e.done(t, e.operate(t, "/tasks/dead?said=x", "dead/retry", url.QueryEscape("a//b")[:8], url.Values{"reason": {"mended"}}))
		done.wants(t, "This task retries the tasks of the group.", "taskkit_bulk", "mended")
		found, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}})
		if err != nil || len(found) != 1 || found[0].Progress.Total != 1 || found[0].Queue != "bulk" || found[0].Owner != e.people[admin].ID {
			t.Errorf("%+v, %v", found, err)
		}
		e.refusesOthers(t, "dead", "dead/retry")
	})
}
