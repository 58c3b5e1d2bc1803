package taskhttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// stream is an answer of server-sent events.
type stream struct {
	reply
	lines *bufio.Scanner
}

// event is a block of a stream: an event, or comments.
type event struct {
	id, data, retry string
	comments        []string
}

// events opens an event stream, which the end of the test closes.
func (e *env) events(tb testing.TB, below string, header ...string) *stream {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), testdb.Patience(tb))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.web.URL+below, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Person", e.person.String())
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := e.web.Client().Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cancel()
		resp.Body.Close()
	})
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		tb.Fatalf("%s: %d %v", below, resp.StatusCode, resp.Header)
	}
	return &stream{reply{resp.StatusCode, resp.Header, ""}, bufio.NewScanner(resp.Body)}
}

// next reads the next block; false: the stream has ended.
func (s *stream) next(tb testing.TB) (event, bool) {
	tb.Helper()
	var v event
	for s.lines.Scan() {
		line := s.lines.Text()
		switch name, value, _ := strings.Cut(line, ":"); {
		case line == "":
			return v, true
		case name == "":
			v.comments = append(v.comments, strings.TrimSpace(value))
		case name == "id":
			v.id = strings.TrimSpace(value)
		case name == "data":
			v.data = strings.TrimSpace(value)
		case name == "retry":
			v.retry = strings.TrimSpace(value)
		default:
			tb.Fatalf("a line of no known field: %q", line)
		}
	}
	if err := s.lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return v, false
}

// job reads the next job, past comments.
func (s *stream) job(tb testing.TB) taskhttp.Job {
	tb.Helper()
	for {
		v, ok := s.next(tb)
		if !ok {
			tb.Fatal("the stream has ended")
		}
		if v.data == "" {
			continue
		}
		j := reply{status: 200, body: v.data}.job(tb)
		if v.id != j.Revision {
			tb.Errorf("the id of the event is %q, of revision %s", v.id, j.Revision)
		}
		return j
	}
}

// last checks that the stream ends with a comment, or with the last event if it is "".
func (s *stream) last(tb testing.TB, comment string) event {
	tb.Helper()
	var before event
	for {
		v, ok := s.next(tb)
		if !ok {
			if got := strings.Join(before.comments, ""); got != comment {
				tb.Errorf("the last comment is %q, want %q", got, comment)
			}
			return before
		}
		if before = v; v.data != "" {
			tb.Errorf("another event: %s", v.data)
		}
	}
}

// An event stream begins with the job, has each change of it and ends with its end.
func TestEvents(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, count)
		s := e.events(t, path(j.ID)+"/events?progressPeriod=250ms")
		if got := s.job(t); got.Status != taskhttp.Running || got.Links["stop"].Method != http.MethodPost {
			t.Errorf("at first: %+v", got)
		}
		e.work.next <- struct{}{}
		e.batch(t, j.ID)
		got := s.job(t)
		if got.Status != taskhttp.Running || got.Progress.Processed != 1 {
			t.Errorf("after a batch: %+v", got)
		}
		check(t, "stop", e.do(t, "POST", path(j.ID)+"/stop", ""), 202, nil)
		for last := got; !got.Done; last = got {
			if got = s.job(t); got.Revision == last.Revision {
				t.Errorf("the same again: %+v", got)
			}
			if got.Status == taskhttp.Stopping {
				e.work.next <- struct{}{}
			}
		}
		if got.Status != taskhttp.Succeeded || !got.Partial {
			t.Errorf("at the end: %+v", got)
		}
		s.last(t, "")
		// Who comes back with the last revision is told to stay away, with an older one
		// gets the job once more.
		check(t, "come back", e.do(t, "GET", path(j.ID)+"/events", "", "Last-Event-ID", got.Revision), 204, nil)
		s = e.events(t, path(j.ID)+"/events", "Last-Event-ID", j.Revision)
		if again := s.job(t); again.Revision != got.Revision {
			t.Errorf("with an old revision: %+v", again)
		}
		s.last(t, "")
	})
}

// A client that comes back with the present revision gets the next one.
func TestEventsGoOnWhereTheyWereLost(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, hold)
		now := e.do(t, "GET", path(j.ID), "").job(t)
		s := e.events(t, path(j.ID)+"/events", "Last-Event-ID", now.Revision)
		if v, ok := s.next(t); !ok || v.data != "" || len(v.comments) != 1 {
			t.Errorf("at first: %+v", v)
		}
		e.work.next <- struct{}{}
		if got := s.job(t); got.Status != taskhttp.Succeeded {
			t.Errorf("at the end: %+v", got)
		}
		s.last(t, "")
	})
}

// Progress comes once in a period, a change of the status at once.
func TestEventsCoalesceProgress(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, count)
		s := e.events(t, path(j.ID)+"/events?progressPeriod=50s")
		last := s.job(t)
		for range 3 {
			e.work.next <- struct{}{}
			e.batch(t, j.ID)
		}
		check(t, "stop", e.do(t, "POST", path(j.ID)+"/stop", ""), 202, nil)
		e.work.next <- struct{}{}
		for !last.Done {
			got := s.job(t)
			before, _, _ := strings.Cut(last.Revision, ".")
			if after, _, _ := strings.Cut(got.Revision, "."); after == before {
				t.Errorf("%+v after %+v", got, last)
			}
			last = got
		}
		if last.Progress.Processed != 4 {
			t.Errorf("at the end: %+v", last.Progress)
		}
	})
}

// Timeouts of the server do not end a stream. Comments keep it open. The timeouts hold for what comes before the
// stream too, which takes a while on a busy machine.
func TestEventsOutliveTimeouts(t *testing.T) {
	t.Parallel()
	const (
		timeout  = 2 * time.Second
		interval = 100 * time.Millisecond
	)
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.jobs.CommentEvery(interval)
		e.web.Close()
		e.web = httptest.NewUnstartedServer(e.jobs)
		e.web.Config.ReadTimeout, e.web.Config.WriteTimeout = timeout, timeout
		e.web.Start()
		t.Cleanup(e.web.Close)
		id, err := taskkit.Submit(t.Context(), db.DB, workKind, workSpec{Mode: done}, taskkit.OwnedBy(e.person), taskkit.WithSchema(e.schema))
		if err != nil {
			t.Fatal(err)
		}
		s := e.events(t, path(id)+"/events")
		began := time.Now()
		for comments := 0; comments < 5 || time.Since(began) < timeout+5*interval; {
			v, ok := s.next(t)
			if !ok {
				t.Fatalf("the stream has ended with %+v", v)
			}
			comments += len(v.comments)
		}
		e.runWorker(t)
		for last := s.job(t); !last.Done; {
			last = s.job(t)
		}
		s.last(t, "")
	})
}

// A server that drains ends its streams, and says when to come back.
func TestEventsEndWhenTheServerDrains(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		j := e.start(t, done)
		s := e.events(t, path(j.ID)+"/events")
		s.job(t)
		e.jobs.Drain()
		if v := s.last(t, "the server shuts down"); v.retry != "2000" {
			t.Errorf("come back after %q", v.retry)
		}
		s = e.events(t, path(j.ID)+"/events")
		s.job(t)
		s.last(t, "the server shuts down")
		e.web.Close() // returns when no request is served
		if n := e.jobs.Watchers(); n != 0 {
			t.Errorf("%d requests wait", n)
		}
	})
}

// A stream of a job that is removed, or that the caller may not watch any more, ends.
func TestEventsOfJobThatVanishes(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		var revoked atomic.Bool
		e := newEnv(t, db, func(c *taskhttp.Config) {
			c.Authorize = func(ctx context.Context, who taskhttp.Caller, op taskhttp.Operation, task *taskkit.Task) error {
				if revoked.Load() && op == taskhttp.OpWatch {
					return errors.New("no more")
				}
				return taskhttp.OwnJobs(ctx, who, op, task)
			}
		})
		deleted := e.start(t, done)
		s := e.events(t, path(deleted.ID)+"/events")
		s.job(t)
		check(t, "delete", e.do(t, "DELETE", path(deleted.ID), ""), 200, nil)
		s.last(t, "there is no such job any more")
		kept := e.start(t, done)
		s = e.events(t, path(kept.ID)+"/events")
		s.job(t)
		answers := make(chan reply, 1)
		go func() { answers <- e.do(t, "GET", path(kept.ID)+"?maximumPollingPeriod=60s", "") }()
		e.waiting(t, 2)
		revoked.Store(true) // and the job does not change
		s.last(t, "there is no such job any more")
		check(t, "watch", <-answers, 404, taskhttp.ErrNoSuchJob)
	})
}

// Streams count as watchers, and what is refused is a problem and no stream.
func TestEventsThatAreRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) { c.MaxWatchersPerCaller = 1 })
		j := e.start(t, done)
		s := e.events(t, path(j.ID)+"/events")
		s.job(t)
		r := e.do(t, "GET", path(j.ID)+"/events", "")
		check(t, "too many", r, 429, taskhttp.ErrTooManyWaits)
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		check(t, "too many watches", e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s", ""), 429, taskhttp.ErrTooManyWaits)
		if r := e.do(t, "HEAD", path(j.ID)+"/events", ""); r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("HEAD: %d %v", r.status, r.header)
		}
		other := e.as(uuid.New())
		theirs, none := other.do(t, "GET", path(j.ID)+"/events", ""), other.do(t, "GET", path(uuid.New())+"/events", "")
		check(t, "of another person", theirs, 404, taskhttp.ErrNoSuchJob)
		if theirs.body != none.body {
			t.Errorf("%s, and of an unknown job %s", theirs.body, none.body)
		}
		check(t, "parameter", e.do(t, "GET", path(j.ID)+"/events?since=x", ""), 400, taskhttp.ErrBadParameter)
		check(t, "period", e.do(t, "GET", path(j.ID)+"/events?progressPeriod=x", ""), 400, taskhttp.ErrBadParameter)
	})
}

// No event has what is private.
func TestEventsArePrivate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.do(t, "POST", startPath, `{"mode":"fail","token":"`+secretMarker+`"}`).job(t)
		resp := e.do(t, "GET", path(e.reach(t, j.ID, taskhttp.Failed).ID)+"/events", "")
		if !strings.HasPrefix(resp.body, "id: ") || strings.Contains(resp.body, "MARKER") {
			t.Errorf("%d %s", resp.status, resp.body)
		}
	})
}

// A client that leaves a stream leaves nothing behind.
func TestEventsOfClientThatGoesAway(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	j := e.start(t, done)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.web.URL+path(j.ID)+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Person", e.person.String())
	resp, err := e.web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ends with %v", err)
	}
	e.web.Close() // returns when no request is served
	if n := e.jobs.Watchers(); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}
