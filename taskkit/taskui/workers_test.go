package taskui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// opsWorker is a live worker that executes the kind of these tests.
func opsWorker(id string) store.Process {
	return store.Process{ID: id, Version: "1.0.0", Kinds: map[string][]int{"ops_demo": {1}}, Queues: []string{"default"}, Slots: 2, DeadAfter: time.Hour}
}

// claim lets a worker claim tasks.
func claim(tb testing.TB, s store.Store, worker string, n int) {
	tb.Helper()
	r, err := s.Claim(tb.Context(), store.Claim{Process: worker, Kinds: map[string][]int{"ops_demo": {1}}, Queues: []string{"default"}, Limit: n})
	if err != nil || len(r.Tasks) != n {
		tb.Fatalf("%s claimed %d tasks, %v; want %d", worker, len(r.Tasks), err, n)
	}
}

// The page Workers has builds, slots, what each worker runs, and what became of those that are lost.
func TestWorkers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/workers", http.StatusOK).wants(t, "There is no live worker")

		safe, other, silent := opsWorker("safe"), opsWorker("host-"+hostile), opsWorker("silent")
		safe.SafeMode, other.Version, other.Slots = true, "1.1.0", 7
		other.Kinds = map[string][]int{"a": {1}, "b": {1}, "c": {1}, "d": {1}, "ops_demo": {1}}
		silent.DeadAfter = time.Millisecond
		s := e.register(t, opsWorker("full"), safe, other, opsWorker("draining"), opsWorker("left"))
		var ids []taskkit.ID
		for range 2 {
			ids = append(ids, e.submit(t, []int{1}))
		}
		claim(t, s, "full", 2)
		for range 6 {
			ids = append(ids, e.submit(t, []int{1}))
		}
		claim(t, s, other.ID, 6)
		if err := s.Heartbeat(t.Context(), "draining", true); err != nil {
			t.Fatal(err)
		}
		if err := s.Deregister(t.Context(), "left"); err != nil {
			t.Fatal(err)
		}
		a := e.as(reader).page(t, "/tasks/workers", http.StatusOK)
		a.wants(t, "<b>4</b> <span>live workers", "8 of 13", "The workers are of several versions", "1.0.0</bdi> (3)", "1.1.0</bdi> (1)",
			">full</span>", ">safe mode</span>", ">shutting down</span>", ">shut down</span>", "host-"+shown, "and 1 more", "5 kinds</summary>", "It holds no presence lock")
		for _, id := range ids[:2] {
			a.wants(t, `href="./task/`+id.String()+`"`)
		}
		a.lacks(t, hostile)

		lost := e.submit(t, []int{1})
		s = e.register(t, silent)
		claim(t, s, "silent", 1)
		for deadline := time.Now().Add(testdb.Patience(t)); ; { // until the database's clock says so
			if a = e.page(t, "/tasks/workers", http.StatusOK); containsAll(a.body, ">silent</span>", "not taken over yet: ") || time.Now().After(deadline) {
				break
			}
		}
		a.wants(t, ">silent</span>", "not taken over yet: ", `href="./task/`+lost.String()+`"`)
		if _, err := s.Reap(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		e.page(t, "/tasks/workers", http.StatusOK).wants(t, ">lost</span>", "It was declared dead: "+store.EndedSilent, "Its tasks were taken over", "<b>1</b> <span>lost within the last hour")
		story := "worker silent lost after 0 items, "
		e.page(t, "/tasks/task/"+lost.String(), http.StatusOK).wants(t, story, " s after its last heartbeat; what it has committed is not done again")
		task, err := e.client.Task(t.Context(), lost)
		if err != nil {
			t.Fatal(err)
		}
		e.people["mine"] = taskui.Person{ID: task.Owner, Level: taskui.Operate, Own: true}
		mine := e.as("mine").page(t, "/tasks/task/"+lost.String(), http.StatusOK)
		mine.wants(t, "worker lost; what it has committed is not done again")
		mine.lacks(t, "silent", "heartbeat")
		e.run(t, lost)
		e.page(t, "/tasks/task/"+lost.String(), http.StatusOK).wants(t, story, "started, ", " s after the worker was lost")
		e.refusesOthers(t, "workers", "workers/end")
	})
}

// A worker is ended by what the application has configured; without that, there is no button.
func TestEndWorker(t *testing.T) {
	t.Parallel()
	var ended []string
	var log bytes.Buffer
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.EndWorker = func(_ context.Context, worker string) error {
			if ended = append(ended, worker); len(ended) > 1 {
				return errors.New("it is " + hostile)
			}
			return nil
		}
	})
	e.register(t, opsWorker("w"))
	end := func() answer {
		return e.operate(t, "/tasks/workers", "workers/end", `of-worker" value="w"`, url.Values{"reason": {"it hangs"}})
	}
	e.done(t, end()).wants(t, "The process of the worker was ended.")
	if want := fmt.Sprintf(`operation=end-worker person=%s path=/workers/end reason="it hangs"`, e.people[admin].ID); !strings.Contains(log.String(), want) {
		t.Errorf("no %s in %s", want, &log)
	}
	a := end()
	a.wants(t, "The worker was not ended", "it is &lt;script&gt;")
	if a.status != http.StatusConflict || !slices.Equal(ended, []string{"w", "w"}) {
		t.Errorf("%d, %q", a.status, ended)
	}
	for _, guessed := range []string{"guessed", "w%00", "-9%20w"} {
		if a := e.do(t, http.MethodPost, "/tasks/workers/end", "key="+guessed+"&of-worker="+url.QueryEscape(guessed)); a.status != http.StatusConflict || len(ended) != 2 {
			t.Errorf("%s: %d, ended %q", guessed, a.status, ended)
		}
	}
	e.refusesOthers(t, "workers", "workers/end")

	without := newEnv(t, sqlite(t))
	without.register(t, opsWorker("w"))
	without.page(t, "/tasks/workers", http.StatusOK).lacks(t, "workers/end")
	if a := without.do(t, http.MethodPost, "/tasks/workers/end", "key=x&of-worker=w"); a.status != http.StatusNotFound {
		t.Errorf("%d", a.status)
	}
}

// The list of workers is read page by page.
func TestWorkersPages(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	var all []store.Process
	for i := range 101 {
		all = append(all, opsWorker(fmt.Sprintf("w%03d", i)))
	}
	e.register(t, all...)
	first := e.page(t, "/tasks/workers", http.StatusOK)
	first.wants(t, "w099", `href="./workers?after=w099" rel="next"`, "All live workers are of version <bdi>1.0.0</bdi>")
	first.lacks(t, "w100")
	second := e.page(t, "/tasks/workers?after=w099", http.StatusOK)
	second.wants(t, "w100")
	second.lacks(t, "w098", `rel="next"`)
}
