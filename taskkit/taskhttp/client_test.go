package taskhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// caller returns a client of a person.
func (e *env) caller() *taskhttp.Client {
	return &taskhttp.Client{
		URL: e.web.URL, HTTP: e.web.Client(), Backoff: time.Millisecond,
		Prepare: func(r *http.Request) error {
			r.Header.Set("Person", e.person.String())
			return nil
		},
	}
}

// The loop of the protocol: start, watch until done, fetch (PTV-35).
func TestReferenceLoop(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		c := e.caller()
		for _, mode := range []string{done, fail} {
			job, err := c.Start(t.Context(), startPath, "", workSpec{Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			for j, err := range c.Watch(t.Context(), job.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				job = j
			}
			result, err := taskhttp.Fetch[workResult](t.Context(), c, job.ID)
			switch {
			case mode == done && (job.Status != taskhttp.Succeeded || err != nil || result.Items != 4):
				t.Errorf("%+v, %+v, %v", job, result, err)
			case mode == fail && (job.Status != taskhttp.Failed || !errors.Is(err, taskhttp.ErrJobFailed)):
				t.Errorf("%+v, %v", job, err)
			}
		}
	})
}

// The client makes each call.
func TestClientCalls(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		c, ctx := e.caller(), t.Context()
		id := e.held(t, count).ID
		if j, err := c.Pause(ctx, id, "lunch"); err != nil || !j.Paused {
			t.Errorf("pause: %+v, %v", j, err)
		}
		if j, err := c.Resume(ctx, id, ""); err != nil || j.Paused {
			t.Errorf("resume: %+v, %v", j, err)
		}
		if j, err := c.Change(ctx, id, taskhttp.Settings{Priority: taskkit.PriorityLow}); err != nil || j.ID != id {
			t.Errorf("change: %+v, %v", j, err)
		}
		if _, err := c.Change(ctx, id, taskhttp.Settings{}); !errors.Is(err, taskhttp.ErrBadParameter) {
			t.Errorf("change nothing: %v", err)
		}
		if _, err := c.Resume(ctx, id, ""); !errors.Is(err, taskhttp.ErrNotPossible) {
			t.Errorf("resume again: %v", err)
		}
		if _, err := c.Approve(ctx, id, ""); !errors.Is(err, taskhttp.ErrNotPossible) {
			t.Errorf("approve: %v", err)
		}
		if _, err := c.Retry(ctx, id, ""); !errors.Is(err, taskhttp.ErrNotPossible) {
			t.Errorf("retry: %v", err)
		}
		if _, err := taskhttp.Fetch[workResult](ctx, c, id); !errors.Is(err, taskhttp.ErrNotDone) {
			t.Errorf("fetch: %v", err)
		}
		if j, err := c.Stop(ctx, id, "enough"); err != nil || j.Status != taskhttp.Stopping {
			t.Errorf("stop: %+v, %v", j, err)
		}
		page, err := c.Page(ctx, url.Values{"status": {"STOPPING"}})
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != id {
			t.Errorf("page: %+v, %v", page, err)
		}
		for range 2 {
			if j, err := c.Delete(ctx, id); err != nil || j.ID != id || j.Status != taskhttp.Deleted {
				t.Errorf("delete: %+v, %v", j, err)
			}
		}
		if j, err := c.Job(ctx, id); err != nil || j.Status != taskhttp.Deleted {
			t.Errorf("deleted: %+v, %v", j, err)
		}
		if _, err := c.Job(ctx, uuid.New()); !errors.Is(err, taskhttp.ErrNoSuchJob) {
			t.Errorf("unknown: %v", err)
		}
		if j, err := c.Delete(ctx, uuid.New()); err != nil || j != nil {
			t.Errorf("delete unknown: %+v, %v", j, err)
		}
	})
}

// unreliable loses answers of a handler: every second request is served, but its answer
// is cut off, or it is refused as by a proxy.
type unreliable struct {
	next  http.Handler
	count atomic.Int64
}

func (u *unreliable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch u.count.Add(1) % 4 {
	case 1:
		w.WriteHeader(http.StatusBadGateway)
	case 2:
		u.next.ServeHTTP(httptest.NewRecorder(), r) // served, and nobody hears of it
		panic(http.ErrAbortHandler)
	default:
		u.next.ServeHTTP(w, r)
	}
}

// Await returns the result of one job though connections break.
func TestAwaitOverLostConnections(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		e.web.Close()
		e.web = httptest.NewServer(&unreliable{next: e.jobs})
		t.Cleanup(e.web.Close)
		var seen []taskhttp.Status
		var once sync.Once
		result, err := taskhttp.Await[workResult](t.Context(), e.caller(), startPath, workSpec{Mode: hold}, func(j *taskhttp.Job) {
			seen = append(seen, j.Status)
			once.Do(func() {
				e.batch(t, j.ID)
				e.work.next <- struct{}{}
			})
		})
		if err != nil || result.Items != 4 || seen[len(seen)-1] != taskhttp.Succeeded {
			t.Errorf("%+v, %v after %v", result, err, seen)
		}
		if n := tasks(t, e); n != 1 {
			t.Errorf("%d tasks, want 1", n)
		}
	})
}

// Await ends with its context, and the job goes on.
func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	var started taskhttp.Job
	_, err := taskhttp.Await[workResult](ctx, e.caller(), startPath, workSpec{Mode: done}, func(j *taskhttp.Job) {
		started = *j
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	check(t, "job", e.do(t, "GET", path(started.ID), ""), 200, nil)
}

// What the server refuses is not repeated, and what nobody answers is, until ctx ends.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	c := e.caller()
	_, err := c.Start(t.Context(), startPath, "k", map[string]int{"mode": 1})
	if p, ok := errors.AsType[*taskhttp.Error](err); !ok || !errors.Is(err, taskhttp.ErrSpec) || len(p.Errors) != 1 {
		t.Errorf("refused: %v", err)
	}
	if _, err := c.Start(t.Context(), startPath, "k", func() {}); err == nil {
		t.Error("a function was encoded")
	}
	c.Prepare = func(*http.Request) error { return errPlanned }
	if _, err := c.Job(t.Context(), uuid.New()); !errors.Is(err, errPlanned) {
		t.Errorf("prepare: %v", err)
	}
	e.web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.caller().Job(ctx, uuid.New()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no server: %v", err)
	}
	if _, err := e.caller().Start(t.Context(), startPath, "", workSpec{Mode: done}); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no server, without a key: %v", err)
	}
}

var errPlanned = errors.New("planned")
