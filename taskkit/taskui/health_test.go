package taskui_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskui"
)

// The page Health has what the doctor finds, with the command that mends it, and what it could not read. Texts of findings cannot break it.
func TestHealth(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var calls atomic.Int64
		affected := taskkit.ID{1, 2, 3}
		e := newEnv(t, db, func(c *taskui.Config) {
			c.Doctor.Checks = []taskdoctor.Check{
				{Name: "mail", Read: func(context.Context, *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
					calls.Add(1)
					since := time.Now().Add(-3 * time.Hour)
					return []taskdoctor.Finding{
						{ID: "mail_down", Severity: taskdoctor.Warning, Text: hostile, Affected: []string{affected.String(), hostile}, More: 1234, Fix: hostile, SQL: hostile, Docs: "javascript:alert(1)", Since: &since},
					}, nil
				}},
				{Name: "broken", Read: func(context.Context, *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
					return nil, errors.New(hostile)
				}},
			}
		})
		if err := e.ops().PauseQueue(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		e.submit(t, []int{1})
		a := e.page(t, "/tasks/health", http.StatusOK)
		a.wants(t, "queue_paused", "taskkit queues resume default", `href="https://taskkit.dev/doctor#queue_paused"`, "<h2>Warnings</h2>",
			shown, `href="./task/`+affected.String()+`"`, "1,234 more", "3 h ago", "1 check could not be made", "<h2>Not known</h2>", `data-live="health"`, "data-say=\"Health: ")
		a.lacks(t, "javascript:", hostile)
		before := calls.Load()
		for range 3 {
			e.as(reader).page(t, "/tasks/health", http.StatusOK)
		}
		part := e.do(t, http.MethodGet, "/tasks/health?live=health", "")
		if part.status != http.StatusOK || part.header.Get("Etag") == "" {
			t.Errorf("part: %d %v", part.status, part.header)
		}
		if again := e.do(t, http.MethodGet, "/tasks/health?live=health", "", "If-None-Match", part.header.Get("Etag")); again.status != http.StatusNotModified {
			t.Errorf("the part that has not changed: %d", again.status)
		}
		if n := calls.Load(); n != before {
			t.Errorf("%d checks were made for reloads", n-before)
		}
		e.refusesOthers(t, "health")
	})
}

// Requests at the same time share the checks, and one that goes on does not keep the page without findings.
func TestHealthIsCheckedOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	begun, proceed := make(chan struct{}), make(chan struct{})
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.Doctor.Checks = []taskdoctor.Check{{Name: "slow", Read: func(context.Context, *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
			if calls.Add(1) == 1 {
				close(begun)
				<-proceed
			}
			return nil, nil
		}}}
	})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if a := e.do(t, http.MethodGet, "/tasks/health", ""); a.status != http.StatusOK {
				t.Errorf("%d\n%s", a.status, a.body)
			}
		})
	}
	<-begun
	close(proceed)
	wait.Wait()
	if n := calls.Load(); n != 1 {
		t.Errorf("the checks were made %d times", n)
	}
}

// A system with nothing wrong says so.
func TestHealthOfHealthySystem(t *testing.T) {
	t.Parallel()
	a := newEnv(t, sqlite(t)).page(t, "/tasks/health", http.StatusOK)
	a.wants(t, "<strong>nothing is wrong</strong>", "<h2>Checks</h2>")
	a.lacks(t, "<h2>Errors</h2>", "<h2>Not known</h2>")
}
