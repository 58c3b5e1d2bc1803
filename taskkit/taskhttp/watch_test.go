package taskhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskhttp"
)

// A watch without a wait, with an old revision, or of a job that is done answers at once.
// The tests would take minutes otherwise.
func TestWatchThatNeedNotWait(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		j := e.start(t, hold) // its revision is that of a job that no worker has
		e.runWorker(t)
		e.batch(t, j.ID)
		check(t, "no wait", e.do(t, "GET", path(j.ID), ""), 200, nil)
		if got := e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s&since="+j.Revision, "").job(t); got.Status != taskhttp.Running {
			t.Errorf("newer than since: %+v", got)
		}
		ended := e.start(t, done)
		last := e.reach(t, ended.ID, taskhttp.Succeeded)
		if got := e.do(t, "GET", path(last.ID)+"?maximumPollingPeriod=60s&since="+last.Revision, "").job(t); got.Revision != last.Revision {
			t.Errorf("done: %+v", got)
		}
	})
}

// A watch returns with the change of the status, and without one with the same revision
// when its time is over.
func TestWatchWaitsForChange(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, hold)
		now := e.do(t, "GET", path(j.ID), "").job(t)
		if got := e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=50ms", "").job(t); got.Revision != now.Revision || got.ElapsedMS < now.ElapsedMS {
			t.Errorf("at the end of the wait: %+v after %+v", got, now)
		}
		answers := make(chan reply, 1)
		go func() { answers <- e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s&since="+now.Revision, "") }()
		e.waiting(t, 1)
		e.work.next <- struct{}{}
		if r := <-answers; r.job(t).Status != taskhttp.Succeeded || r.header.Get("ETag") != `W/"`+r.job(t).Revision+`"` {
			t.Errorf("after the change: %v %s", r.header, r.body)
		}
	})
}

// waiting returns when so many requests wait in the server.
func (e *env) waiting(tb testing.TB, n int) {
	tb.Helper()
	deadline := time.After(testdb.Patience(tb))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for e.jobs.Watchers() < n {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%d requests wait, want %d", e.jobs.Watchers(), n)
		}
	}
}

// With a period a watch returns with progress too, without one it does not.
func TestWatchProgress(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, count)
		now := e.do(t, "GET", path(j.ID), "").job(t)
		both := make(chan reply, 2)
		go func() {
			both <- e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s&progressPeriod=250ms&since="+now.Revision, "")
		}()
		e.waiting(t, 1)
		e.work.next <- struct{}{}
		e.batch(t, j.ID)
		e.work.next <- struct{}{}
		e.batch(t, j.ID)
		got := (<-both).job(t)
		if got.Status != taskhttp.Running || got.Progress.Processed == 0 || got.Revision == now.Revision {
			t.Errorf("with progress: %+v", got)
		}
		// Of three changes of progress the status has none: only the end of the wait
		// answers.
		quiet := e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=100ms&since="+now.Revision, "").job(t)
		if quiet.Progress.Processed != 2 || quiet.Progress.Percent == nil || *quiet.Progress.Percent != 50 || *quiet.Progress.Remaining != 2 {
			t.Errorf("without progress: %+v", quiet.Progress)
		}
	})
}

// If-None-Match makes a watch conditional.
func TestConditionalWatch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, hold)
		tag := e.do(t, "GET", path(j.ID), "").header.Get("ETag")
		for _, header := range [][]string{{"If-None-Match", tag}, {"If-None-Match", `"x", ` + tag}, {"If-None-Match", "*"}} {
			if r := e.do(t, "GET", path(j.ID), "", header...); r.status != http.StatusNotModified || r.body != "" || r.header.Get("ETag") != tag {
				t.Errorf("%v: %d %v %s", header, r.status, r.header, r.body)
			}
		}
		check(t, "another tag", e.do(t, "GET", path(j.ID), "", "If-None-Match", `W/"x"`), 200, nil)
		answers := make(chan reply, 1)
		go func() {
			answers <- e.do(t, "GET", path(j.ID), "", "If-None-Match", tag, "Prefer", "respond-async, wait=60")
		}()
		e.waiting(t, 1)
		e.work.next <- struct{}{}
		if r := <-answers; r.status != 200 || r.job(t).Status != taskhttp.Succeeded {
			t.Errorf("after the change: %d %s", r.status, r.body)
		}
	})
}

// A job that is removed while it is watched is unknown (PTV-34).
func TestWatchOfJobThatVanishes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		j := e.start(t, done)
		answers := make(chan reply, 1)
		go func() { answers <- e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s", "") }()
		e.waiting(t, 1)
		check(t, "delete", e.do(t, "DELETE", path(j.ID), ""), 200, nil)
		check(t, "watch", <-answers, 404, taskhttp.ErrNoSuchJob)
	})
}

// A watch without maximumPollingPeriod, or with 0, is answered at once: it needs no place among those that wait.
func TestPTV28PollZero(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) { c.MaxWatchers = 1 })
		j := e.start(t, done)
		self := path(j.ID)
		waits := make(chan reply, 1)
		go func() { waits <- e.do(t, "GET", self+"?maximumPollingPeriod=60s", "") }()
		e.waiting(t, 1)
		for _, q := range []string{"", "?maximumPollingPeriod=0s", "?since=" + j.Revision, "?progressPeriod=1s&since=" + j.Revision} {
			if r := e.do(t, "GET", self+q, ""); r.status != http.StatusOK || r.job(t).Revision != j.Revision {
				t.Errorf("watch%s: %d %s", q, r.status, r.body)
			}
		}
		check(t, "one that waits", e.do(t, "GET", self+"?maximumPollingPeriod=1ms", ""), 429, taskhttp.ErrTooManyWaits)
		check(t, "delete", e.do(t, "DELETE", self, ""), 200, nil)
		<-waits
	})
}

// Many watchers of many jobs share one query.
func TestWatchersAreBoundedAndReleased(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) { c.MaxWatchers, c.MaxWatchersPerCaller = 3, 2 })
		other := e.as(uuid.New())
		var all sync.WaitGroup
		var answered [3]reply
		for i, who := range []*env{e, e, other} {
			j := who.start(t, done)
			all.Go(func() { answered[i] = who.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=60s", "") })
			e.waiting(t, i+1)
		}
		third := e.start(t, done)
		r := e.do(t, "GET", path(third.ID)+"?maximumPollingPeriod=60s", "")
		check(t, "too many of one", r, 429, taskhttp.ErrTooManyWaits)
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		of := other.start(t, done)
		check(t, "too many of all", other.do(t, "GET", path(of.ID)+"?maximumPollingPeriod=60s", ""), 429, taskhttp.ErrTooManyWaits)
		check(t, "without a wait", e.do(t, "GET", path(third.ID), ""), 200, nil)
		// A server that drains answers all of them.
		e.jobs.Drain()
		e.jobs.Drain()
		all.Wait()
		for i, r := range answered {
			if r.status != 200 || r.header.Get("Retry-After") != "2" {
				t.Errorf("%d: %d %v %s", i, r.status, r.header, r.body)
			}
		}
		check(t, "start", e.do(t, "POST", startPath, `{"mode":"done"}`), 503, taskhttp.ErrShuttingDown)
		if n := e.jobs.Watchers(); n != 0 {
			t.Errorf("%d requests wait", n)
		}
	})
}

// A wait may be longer than the timeouts of the server.
func TestWatchOutlivesTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	j := e.start(t, done) // not within the timeouts: the machine may be busy
	e.web.Close()
	e.web = httptest.NewUnstartedServer(e.jobs)
	e.web.Config.WriteTimeout, e.web.Config.ReadTimeout = time.Second, time.Second
	e.web.Start()
	t.Cleanup(e.web.Close)
	if got := e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=3s", "").job(t); got.Revision != j.Revision || got.ElapsedMS < 3000 {
		t.Errorf("%+v", got)
	}
}

// A client that goes away leaves nothing behind.
func TestClientThatGoesAway(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	j := e.start(t, done)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.web.URL+path(j.ID)+"?maximumPollingPeriod=60s", nil)
		if err == nil {
			r.Header.Set("Person", e.person.String())
			var resp *http.Response
			if resp, err = e.web.Client().Do(r); err == nil {
				resp.Body.Close()
				err = fmt.Errorf("answered with %d", resp.StatusCode)
			}
		}
		gone <- err
	}()
	e.waiting(t, 1)
	cancel()
	if err := <-gone; ctx.Err() == nil || err == nil {
		t.Error(err)
	}
	e.web.Close() // returns when no request is served
	if n := e.jobs.Watchers(); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}
