package taskui_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

var hashShown = regexp.MustCompile(`SHA-256 <code>([0-9a-f]{64})</code>`)

var reportShown = regexp.MustCompile(`(?s)(<p>[0-9]+ items processed.*?)</section>`)

// decide sends a form of the page of an approval.
func (e *env) decide(tb testing.TB, id taskkit.ID, verb, reason string) answer {
	tb.Helper()
	return e.decideAsSeen(tb, e.page(tb, "/tasks/approvals/"+id.String(), http.StatusOK), id, verb, reason)
}

// decideAsSeen sends a form of the page of an approval that was read before.
func (e *env) decideAsSeen(tb testing.TB, a answer, id taskkit.ID, verb, reason string) answer {
	tb.Helper()
	page := "approvals/" + id.String()
	for _, m := range formOf.FindAllStringSubmatch(a.body, -1) {
		if !strings.HasSuffix(m[1], "/"+verb) {
			continue
		}
		form := url.Values{"reason": {reason}}
		for _, f := range hiddenOf.FindAllStringSubmatch(m[2], -1) {
			form.Set(f[1], unescape.Replace(f[2]))
		}
		return e.do(tb, http.MethodPost, "/tasks/"+page+"/"+verb, form.Encode())
	}
	tb.Fatalf("no form to %s in\n%s", verb, a.body)
	return answer{}
}

// A task that waits for approval is shown with its preview to those who can approve it. What they saw is recorded by its hash.
func TestApprovals(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/approvals", http.StatusOK).wants(t, "Nothing waits for your approval.")

		requester, other := e.people[operator].ID, e.people[admin].ID
		preview := e.submit(t, []int{1, 2, 3}, taskkit.WithPreview())
		e.run(t, preview)
		id, err := e.client.Apply(t.Context(), preview, taskkit.WithApproval(), taskkit.WithActor(requester), taskkit.WithReason("for <b>Ada</b>\u202e"))
		if err != nil {
			t.Fatal(err)
		}
		page := "/tasks/approvals/" + id.String()
		list := e.page(t, "/tasks/approvals", http.StatusOK)
		list.wants(t, `href="./approvals/`+id.String()+`"`, requester.String(), "for &lt;b&gt;Ada&lt;/b&gt;\uFFFD", "before its first batch, by a second person", `data-say="1 wait for you"`)
		a := e.page(t, page, http.StatusOK)
		a.lacks(t, "about under")
		a.wants(t, "What the preview has found", `href="../task/`+preview.String()+`"`, "3 items processed", "greeted", "&#34;people&#34;", ">Approve</button>", ">Refuse</button>")
		hash := firstOf(t, hashShown, a.body)
		if again := firstOf(t, hashShown, e.as(reader).page(t, page, http.StatusOK).body); again != hash {
			t.Errorf("the hash is another one for another person: %s, %s", hash, again)
		}

		// Only people who can approve it have it among what needs them.
		for person, needed := range map[string]bool{admin: true, operator: false, stopper: false, reader: false, owner: false} {
			if home := e.as(person).page(t, "/tasks/", http.StatusOK); strings.Contains(home.body, "ops_demo waits for approval") != needed {
				t.Errorf("the page Home of %s: want %t\n%s", person, needed, home.body)
			}
		}

		// The requester, and people without the right.
		mine := e.as(operator).page(t, page, http.StatusOK)
		mine.wants(t, "somebody other than its owner", ">Refuse</button>")
		mine.lacks(t, ">Approve</button>")
		e.as(operator).page(t, "/tasks/approvals", http.StatusOK).wants(t, "Wait for others", "Nothing waits for your approval.")
		form := url.Values{"key": {"k"}, "of-hash": {hash}}
		if a := e.as(operator).do(t, http.MethodPost, page+"/approve", form.Encode()); a.status != http.StatusConflict || !strings.Contains(a.body, "somebody other than its owner") {
			t.Errorf("the requester approves: %d\n%s", a.status, a.body)
		}
		for _, person := range []string{reader, stopper, nothing} {
			if a := e.as(person).do(t, http.MethodPost, page+"/approve", form.Encode()); a.status != http.StatusForbidden {
				t.Errorf("%s approves: %d", person, a.status)
			}
		}
		if a := e.as(owner).do(t, http.MethodPost, page+"/approve", form.Encode()); a.status != http.StatusNotFound {
			t.Errorf("a person who does not see the task approves: %d", a.status)
		}
		e.as(owner).page(t, page, http.StatusNotFound)
		e.as(owner).page(t, "/tasks/approvals", http.StatusOK).lacks(t, id.String())
		e.as(reader).page(t, page, http.StatusOK).lacks(t, `method="post"`)

		// Another hash than the present one, and none.
		for _, other := range []string{"", strings.Repeat("0", 64), hostile} {
			form := url.Values{"key": {"k" + other[:min(1, len(other))]}, "of-hash": {url.QueryEscape(other)}}
			if a := e.do(t, http.MethodPost, page+"/approve", form.Encode()); a.status != http.StatusConflict {
				t.Errorf("hash %q: %d\n%s", other, a.status, a.body)
			}
		}
		e.done(t, e.decide(t, id, "approve", "seen with Kurt")).wants(t, "The task was approved.", "Nothing waits for your approval.")
		events, err := e.client.Events(t.Context(), id, 10)
		if err != nil || len(events) == 0 || events[0].Action != "approve" || events[0].Actor != other || !strings.Contains(events[0].Reason, hash) || !strings.HasPrefix(events[0].Reason, "seen with Kurt (") {
			t.Errorf("%+v, %v", events, err)
		}
		if task, err := e.client.Task(t.Context(), id); err != nil || task.Control != "" {
			t.Errorf("%+v, %v", task, err)
		}
		e.page(t, page, http.StatusConflict).wants(t, "does not wait for approval any more")
		if a := e.do(t, http.MethodPost, page+"/refuse", "key=late&reason=r"); a.status != http.StatusConflict {
			t.Errorf("a refusal after the approval: %d", a.status)
		}
		e.page(t, "/tasks/approvals/x", http.StatusNotFound)
		e.page(t, "/tasks/approvals?before=x", http.StatusNotFound)
	})
}

// What is approved is what was seen: an approval is refused when the report of the preview has changed since the page was opened. The page of the task has
// no other way to approve it.
func TestApprovalOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		preview := e.submit(t, []int{1, 2, 3}, taskkit.WithPreview())
		e.run(t, preview)
		id, err := e.client.Apply(t.Context(), preview, taskkit.WithApproval(), taskkit.WithActor(e.people[operator].ID))
		if err != nil {
			t.Fatal(err)
		}
		seen := e.page(t, "/tasks/approvals/"+id.String(), http.StatusOK)
		seen.wants(t, "3 items processed", "The real task will take", "greeted")
		if own := e.page(t, path(preview), http.StatusOK); firstOf(t, reportShown, own.body) != firstOf(t, reportShown, seen.body) {
			t.Errorf("the page of the preview has another report than the page of the approval:\n%s\n%s", own.body, seen.body)
		}
		if _, err := e.client.Delete(t.Context(), preview); err != nil {
			t.Fatal(err)
		}
		if a := e.decideAsSeen(t, seen, id, "approve", ""); a.status != http.StatusConflict || !strings.Contains(a.body, "It has changed since the page was opened") {
			t.Errorf("after the report has changed: %d\n%s", a.status, a.body)
		}
		task := e.page(t, path(id), http.StatusOK)
		task.wants(t, `href="../approvals/`+id.String()+`">Approve</a>`)
		e.page(t, path(id)+"/approve", http.StatusNotFound)
		form := url.Values{"key": {"k"}, "revision": {firstOf(t, revisionForm, task.body)}}.Encode()
		if a := e.do(t, http.MethodPost, path(id)+"/approve", form); a.status != http.StatusMethodNotAllowed {
			t.Errorf("an approval without what was seen: %d", a.status)
		}
		if task, err := e.client.Task(t.Context(), id); err != nil || task.Control != taskkit.ControlPause {
			t.Fatalf("%+v, %v", task, err)
		}
		e.done(t, e.decide(t, id, "approve", "")).wants(t, "The task was approved.")
	})
}

// A refusal needs a reason and ends the task. It needs the right to stop tasks only.
func TestRefusals(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		id := e.submit(t, []int{1}, taskkit.WithApproval())
		e.page(t, "/tasks/approvals/"+id.String(), http.StatusOK).wants(t, "The task was submitted without a preview")
		by := e.as(stopper)
		by.page(t, "/tasks/approvals/"+id.String(), http.StatusOK).wants(t, "You may not approve it.", ">Refuse</button>")
		if a := by.decide(t, id, "refuse", " "); a.status != http.StatusUnprocessableEntity {
			t.Errorf("without a reason: %d", a.status)
		}
		e.done(t, by.decide(t, id, "refuse", hostile)).wants(t, "The task was refused")
		task, err := e.client.Task(t.Context(), id)
		if err != nil || !task.Partial {
			t.Errorf("%+v, %v", task, err)
		}
		events, err := e.client.Events(t.Context(), id, 10)
		if err != nil || len(events) == 0 || events[0].Action != "stop" || events[0].Actor != e.people[stopper].ID || !strings.HasPrefix(events[0].Reason, "refused: <script>") {
			t.Errorf("%+v, %v", events, err)
		}
	})
}

// The owner of a task approves its canary, and a person who is not known cannot approve.
func TestApprovalOfCanary(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	e.people["local"] = taskui.Person{Level: taskui.Admin}
	id := e.submit(t, []int{1, 2, 3, 4}, taskkit.OwnedBy(e.people[owner].ID), taskkit.WithCanary(2))
	stop := e.start(t, opsExecutor{})
	by := e.as(owner)
	ctx := testdb.Within(t)
	for !strings.Contains(by.page(t, "/tasks/approvals", http.StatusOK).body, id.String()) {
		if ctx.Err() != nil {
			t.Fatal("the canary does not wait for approval")
		}
	}
	stop()
	paused := by.page(t, path(id), http.StatusOK)
	paused.wants(t, "pause requested: it waits for approval") // by the runtime, so no person is named
	a := by.page(t, "/tasks/approvals/"+id.String(), http.StatusOK)
	a.wants(t, "after its first 2 items", "see what has become of its <a", ">Approve</button>")
	a.lacks(t, "people&#34;") // the spec is for operators
	e.as("local").page(t, "/tasks/approvals/"+id.String(), http.StatusOK).wants(t, "It is not known who you are")
	if a := e.as("local").do(t, http.MethodPost, "/tasks/approvals/"+id.String()+"/approve", url.Values{"key": {"k"}, "of-hash": {firstOf(t, hashShown, e.as("local").page(t, "/tasks/approvals/"+id.String(), http.StatusOK).body)}}.Encode()); a.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown person approves: %d", a.status)
	}
	e.done(t, by.decide(t, id, "approve", "")).wants(t, "The task was approved.")
	events, err := e.client.Events(t.Context(), id, 10)
	if err != nil || len(events) == 0 || events[0].Actor != e.people[owner].ID || uuid.Nil == events[0].Actor {
		t.Errorf("%+v, %v", events, err)
	}
}
