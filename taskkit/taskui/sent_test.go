package taskui_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskui"
)

var taskOf = regexp.MustCompile(`task/([0-9a-f-]{36})`)

// sender is a person who sends a form to a process that serves the dashboard.
type sender struct {
	*env

	form url.Values
}

// atOnce sends forms for one action at once and returns the answers.
func atOnce(t *testing.T, action string, senders ...sender) []answer {
	t.Helper()
	answers := make([]answer, len(senders))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, s := range senders {
		all.Go(func() {
			<-begin
			answers[i] = s.do(t, http.MethodPost, "/tasks/"+action, s.form.Encode())
		})
	}
	close(begin)
	all.Wait()
	return answers
}

// oneTask checks that each answer leads to the same task, and that it is the only one of its selection.
func (e *env) oneTask(t *testing.T, what string, answers []answer, f taskkit.Filter) taskkit.ID {
	t.Helper()
	found, _, err := e.client.Tasks(t.Context(), f)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d tasks, want 1: %v", what, len(found), err)
	}
	for _, a := range answers {
		if a.status != http.StatusSeeOther || firstOf(t, taskOf, a.header.Get("Location")) != found[0].ID.String() {
			t.Errorf("%s: %d to %q, want the page of %s\n%s", what, a.status, a.header.Get("Location"), found[0].ID, a.body)
		}
	}
	return found[0].ID
}

// A form that a double click sends through a proxy to two processes at once submits one task, and both answers lead to it.
func TestDoubleClickOnTwoProcesses(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		other := newEnv(t, db).with(e.people)
		clicks := func(form url.Values) []sender {
			return []sender{{e, form}, {other, form}, {e, form}, {other, form}}
		}
		submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
		e.register(t, store.Process{ID: "bulk", Kinds: map[string][]int{taskbulk.Kind.Name(): {1}}, Queues: []string{"bulk"}, Slots: 1, DeadAfter: 1 << 40})
		dead := e.submit(t, []int{-1})
		e.run(t, dead)

		form := browserForm(e.page(t, "/tasks/kind/halves", http.StatusOK).body)
		form.Set("key", "start")
		form.Set("step", "run")
		e.oneTask(t, "start", atOnce(t, "kind/halves", clicks(form)...), taskkit.Filter{Kinds: []string{"halves"}})

		e.oneTask(t, "bulk", atOnce(t, "bulk/pause", clicks(url.Values{"key": {"bulk"}, "q": {"kind:pieces"}, "reason": {"bulk"}})...), taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}})
		if _, err := e.client.Delete(t.Context(), e.oneTask(t, "bulk", nil, taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}})); err != nil {
			t.Fatal(err)
		}
		e.oneTask(t, "dead letters", atOnce(t, "dead/retry", clicks(url.Values{"key": {"dead"}, "of-kind": {"ops_demo"}, "of-code": {"mailbox_full"}})...), taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}})
	})
}

// A browser gives the first answer up when a second click sends the form again. The change is made, and the second answer says so.
func TestDoubleClickGivesTheFirstUp(t *testing.T) {
	t.Parallel()
	began, left := make(chan struct{}, 2), make(chan struct{})
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.EndWorker = func(ctx context.Context, _ string) error {
			began <- struct{}{}
			<-left
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
				return nil
			}
		}
	})
	e.register(t, opsWorker("w"))
	form := url.Values{"key": {"k"}, "of-worker": {"w"}}.Encode()
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.web.URL+"/tasks/workers/end", strings.NewReader(form))
		if err == nil {
			r.Header.Set("Person", admin)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			var resp *http.Response
			if resp, err = e.web.Client().Do(r); err == nil {
				err = resp.Body.Close()
			}
		}
		first <- err
	}()
	<-began
	second := make(chan answer)
	go func() { second <- e.do(t, http.MethodPost, "/tasks/workers/end", form) }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first answer: %v", err)
	}
	close(left)
	if a := <-second; a.status != http.StatusSeeOther || len(began) > 0 {
		t.Errorf("%d, made %d times more\n%s", a.status, len(began), a.body)
	}
}

// Two people who press a button at once, each on a page of their own, make one task of it, and each sees that task.
func TestTwoPeoplePressAtOnce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		other := newEnv(t, db).with(e.people).as(operator)
		page := func(e *env, id taskkit.ID, key string) sender {
			a := e.page(t, path(id), http.StatusOK)
			return sender{e, url.Values{"key": {key + firstOf(t, keyForm, a.body)}, "revision": {firstOf(t, revisionForm, a.body)}, "reason": {"by " + e.person}}}
		}
		press := func(id taskkit.ID, verb string) []answer {
			t.Helper()
			return atOnce(t, "task/"+id.String()+"/"+verb, page(e, id, "a"), page(other, id, "a"), page(e, id, "b"), page(other, id, "b"))
		}
		dead := e.submit(t, []int{-1})
		preview := e.submit(t, []int{1, 2}, taskkit.WithPreview())
		stopped := e.submit(t, []int{1, 2})
		if _, err := e.client.Stop(t.Context(), stopped); err != nil {
			t.Fatal(err)
		}
		e.run(t, dead, preview, stopped)
		e.oneTask(t, "apply", press(preview, "apply"), taskkit.Filter{Follows: preview})
		e.oneTask(t, "continue", press(stopped, "continue"), taskkit.Filter{Follows: stopped})

		// What makes no task is requested once: the other answers say that it was.
		done := 0
		for _, a := range press(dead, "retry") {
			switch a.status {
			case http.StatusSeeOther:
				done++
			case http.StatusConflict:
				checkPage(t, "retry", a)
			default:
				t.Errorf("retry: %d\n%s", a.status, a.body)
			}
		}
		events, err := e.client.Events(t.Context(), dead, 10)
		if err != nil || len(events) != 1 || events[0].Action != "retry" || done != 1 {
			t.Errorf("%d answers say that it is retried, and the record has %+v, %v", done, events, err)
		}
	})
}
