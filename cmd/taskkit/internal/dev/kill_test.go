package dev

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
)

// The page Workers kills a worker after the report, and another one takes its place; before that it refuses.
func TestKilledFromDashboard(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, _ := options(t, db)
		r := start(t, o)
		victim, err := r.workers.add(holdNothing)
		if err != nil {
			t.Fatal(err)
		}
		first := r.workerOnPage(t, "")
		if status, page := r.endWorker(t, first); status != http.StatusConflict || !strings.Contains(page, "kills workers by itself") {
			t.Fatalf("before the report: %d\n%s", status, page)
		}

		ctx, end := context.WithCancel(t.Context())
		stayed := make(chan error, 1)
		r.reported.Store(true)
		go func() { stayed <- r.workers.stay(ctx, r.killed) }()
		defer func() {
			end()
			if err := <-stayed; err != nil {
				t.Error(err)
			}
		}()
		if status, page := r.endWorker(t, "dev0-unknown"); status != http.StatusConflict || !strings.Contains(page, "There is no such worker") {
			t.Errorf("an unknown worker: %d\n%s", status, page)
		}
		if status, page := r.endWorker(t, first); status != http.StatusOK || !strings.Contains(page, "The process of the worker was ended.") {
			t.Fatalf("%d\n%s", status, page)
		}
		select {
		case <-victim.done:
		case <-time.After(testdb.Patience(t)):
			t.Fatal("the worker still runs")
		}
		if text := victim.cmd.ProcessState.String(); !strings.Contains(text, "killed") {
			t.Error(text)
		}
		r.workerOnPage(t, first)
	})
}

var endForm = regexp.MustCompile(`name="of-worker" value="([^"]+)"`)

// workerOnPage waits until the page Workers has a worker besides this one, which can be ended, and returns its id.
func (r *run) workerOnPage(t *testing.T, besides string) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testdb.Patience(t))
	for {
		page := r.answer(t, http.MethodGet, "workers", nil, http.StatusOK)
		for _, m := range endForm.FindAllStringSubmatch(page, -1) {
			if m[1] != besides {
				return m[1]
			}
		}
		select {
		case <-deadline:
			t.Fatal(page)
		case <-tick.C:
		}
	}
}

// endWorker sends the form of a worker, and returns the status and the page that follows.
func (r *run) endWorker(t *testing.T, id string) (status int, page string) {
	t.Helper()
	key := regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(r.answer(t, http.MethodGet, "workers", nil, http.StatusOK))
	if key == nil {
		t.Fatal("the page has no form")
	}
	return r.request(t, http.MethodPost, "workers/end", url.Values{"key": {key[1] + id}, "of-worker": {url.QueryEscape(id)}})
}

func (r *run) answer(t *testing.T, method, path string, form url.Values, want int) string {
	t.Helper()
	status, page := r.request(t, method, path, form)
	if status != want {
		t.Fatalf("%s %s: %d\n%s", method, path, status, page)
	}
	return page
}

// request makes a request of the dashboard as a browser does, and follows its redirect.
func (r *run) request(t *testing.T, method, path string, form url.Values) (status int, page string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.web.url+pathDashboard+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := r.web.client.HTTP.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}
