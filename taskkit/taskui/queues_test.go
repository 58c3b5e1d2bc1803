package taskui_test

import (
	"net/http"
	"net/url"
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// The page Queues has what waits and since when, and pauses and resumes queues with a reason, which is recorded.
func TestQueues(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/queues", http.StatusOK).wants(t, "There is no queue")

		e.register(t, opsWorker("w"), store.Process{ID: "other", Kinds: map[string][]int{"ops_demo": {1}}, Queues: []string{"default", "mail"}, Slots: 3, DeadAfter: 1 << 40})
		for range 3 {
			e.submit(t, []int{1})
		}
		e.submit(t, []int{1}, taskkit.WithQueue("elsewhere"))
		e.page(t, "/tasks/queues", http.StatusOK).wants(t, "<bdi>default</bdi>", `href="./list?q=queue%3Adefault`, ">3</a>", "(0 of 5 slots busy)", "<bdi>mail</bdi>",
			"<bdi>elsewhere</bdi>", "No live worker serves it", "under 1 s")

		a := e.operate(t, "/tasks/queues", "queues/pause", "of-queue\" value=\"default\"", url.Values{"reason": {hostile}})
		e.done(t, a).wants(t, "The queue is paused.", ">paused</span>", "by Ada Admin: &lt;script&gt;", "queues/resume")
		e.as(reader).page(t, "/tasks/queues", http.StatusOK).wants(t, "by "+e.people[admin].ID.String())
		if q := e.queue(t, "default"); !q.Paused || q.PausedBy != e.people[admin].ID || q.PausedReason == "" {
			t.Errorf("%+v", q)
		}
		a = e.operate(t, "/tasks/queues", "queues/resume", "of-queue\" value=\"default\"", nil)
		e.done(t, a).wants(t, "The queue goes on.")
		if q := e.queue(t, "default"); q.Paused || q.ResumedBy != e.people[admin].ID {
			t.Errorf("%+v", q)
		}

		// Of a queue that there is not, and of one that there cannot be.
		e.done(t, e.operate(t, "/tasks/queues", "queues/pause", `name="queue"`, url.Values{"queue": {" later "}})).wants(t, "<bdi>later</bdi>")
		for _, name := range []string{"", hostile, "a/b", "a//b", "%zz", "../x"} {
			a := e.operate(t, "/tasks/queues", "queues/pause", `name="queue"`, url.Values{"queue": {name}})
			if a.status != http.StatusUnprocessableEntity {
				t.Errorf("queue %q: %d\n%s", name, a.status, a.body)
			}
			checkPage(t, name, a)
		}
		if a := e.do(t, http.MethodPost, "/tasks/queues/pause", "key=x&of-queue=%25zz"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("a hidden field that is not escaped: %d", a.status)
		}
		e.refusesOthers(t, "queues", "queues/pause", "queues/resume")
	})
}

// queue returns a queue as the database has it.
func (e *env) queue(tb testing.TB, name string) taskops.QueueInfo {
	tb.Helper()
	all, err := e.ops().Queues(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, q := range all {
		if q.Name == name {
			return q
		}
	}
	return taskops.QueueInfo{}
}

// Two forms of one page make two changes, and one that is sent twice makes one.
func TestFormsOfOnePage(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	e.register(t, store.Process{ID: "w", Kinds: map[string][]int{"ops_demo": {1}}, Queues: []string{"a", "b"}, Slots: 1, DeadAfter: 1 << 40})
	page := e.page(t, "/tasks/queues", http.StatusOK)
	var forms []string
	for _, m := range formOf.FindAllStringSubmatch(page.body, -1) {
		form := url.Values{}
		for _, f := range hiddenOf.FindAllStringSubmatch(m[2], -1) {
			form.Set(f[1], unescape.Replace(f[2]))
		}
		if form.Has("of-queue") {
			forms = append(forms, form.Encode())
		}
	}
	if len(forms) != 2 {
		t.Fatalf("%d forms", len(forms))
	}
	for _, form := range append(forms, forms...) {
		if a := e.do(t, http.MethodPost, "/tasks/queues/pause", form); a.status != http.StatusSeeOther {
			t.Errorf("%d\n%s", a.status, a.body)
		}
	}
	changes, err := e.ops().SettingChanges(t.Context(), taskops.ChangeFilter{})
	if err != nil || len(changes) != 2 {
		t.Errorf("%+v, %v; want two changes", changes, err)
	}
}
