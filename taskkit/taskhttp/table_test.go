package taskhttp_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

const unknown taskhttp.Status = "UNKNOWN"

// A row of the table of the protocol (PTV-16 to 22).
type row struct {
	status   taskhttp.Status
	make     func(t *testing.T, e *env) taskkit.ID
	progress bool
	fetch    int // statuses of HTTP
	fetched  *taskhttp.Error
	stop     int
	stopped  *taskhttp.Error
	delete   int
	after    taskhttp.Status // after the delete, while the batch still runs
}

var table = []row{
	{
		taskhttp.Queuing, func(t *testing.T, e *env) taskkit.ID {
			r := e.as(e.person).do(t, "POST", startPath+"/waiting", `{"mode":"done"}`)
			return r.job(t).ID
		},
		false, 409, taskhttp.ErrNotDone, 409, taskhttp.ErrNotPossible, 200, unknown,
	},
	{
		taskhttp.Running, func(t *testing.T, e *env) taskkit.ID { return e.held(t, hold).ID },
		true, 409, taskhttp.ErrNotDone, 202, nil, 200, taskhttp.Deleted,
	},
	{
		taskhttp.Stopping, func(t *testing.T, e *env) taskkit.ID {
			j := e.held(t, hold)
			e.do(t, "POST", j.Links["self"].Href+"/stop", "")
			return j.ID
		},
		true, 409, taskhttp.ErrNotDone, 200, nil, 200, taskhttp.Deleted,
	},
	{
		taskhttp.Succeeded, func(t *testing.T, e *env) taskkit.ID {
			return e.reach(t, e.start(t, done).ID, taskhttp.Succeeded).ID
		},
		true, 200, nil, 200, nil, 200, unknown,
	},
	{
		taskhttp.Failed, func(t *testing.T, e *env) taskkit.ID {
			return e.reach(t, e.start(t, fail).ID, taskhttp.Failed).ID
		},
		true, 424, taskhttp.ErrJobFailed, 200, nil, 200, unknown,
	},
	{
		taskhttp.Deleted, func(t *testing.T, e *env) taskkit.ID {
			j := e.held(t, hold)
			e.do(t, "DELETE", j.Links["self"].Href, "")
			return j.ID
		},
		false, 410, taskhttp.ErrDeleted, 409, taskhttp.ErrNotPossible, 200, taskhttp.Deleted,
	},
	{
		unknown, func(*testing.T, *env) taskkit.ID { return uuid.New() },
		false, 404, taskhttp.ErrNoSuchJob, 404, taskhttp.ErrNoSuchJob, 204, unknown,
	},
}

// Each cell of the table of the protocol, each with a job of its own.
func TestTableOfTheProtocol(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		// Nothing serves this queue.
		taskhttp.Start(e.jobs, "POST "+startPath+"/waiting", workKind, inQueue("unserved"))
		e.runWorker(t)
		for _, row := range table {
			t.Run(string(row.status), func(t *testing.T) {
				t.Parallel()
				checkWatch(t, e, row)
				check(t, "fetch", e.do(t, "GET", path(row.make(t, e))+"/result", ""), row.fetch, row.fetched)
				check(t, "stop", e.do(t, "POST", path(row.make(t, e))+"/stop", ""), row.stop, row.stopped)
				checkDelete(t, e, row)
			})
		}
	})
}

func check(t *testing.T, what string, r reply, status int, p *taskhttp.Error) {
	t.Helper()
	if r.status != status {
		t.Errorf("%s: %d %s, want %d", what, r.status, r.body, status)
	}
	if p != nil && r.problem(t).Type != p.Type {
		t.Errorf("%s: %s, want %s", what, r.body, p.Type)
	}
}

func checkWatch(t *testing.T, e *env, row row) {
	t.Helper()
	r := e.do(t, "GET", path(row.make(t, e)), "")
	if row.status == unknown {
		check(t, "watch", r, http.StatusNotFound, taskhttp.ErrNoSuchJob)
		return
	}
	j := r.job(t)
	if r.status != 200 || j.Status != row.status || (j.Progress != nil) != row.progress {
		t.Errorf("watch: %d %s, want %s, progress %t", r.status, r.body, row.status, row.progress)
	}
	// The links are the cells that have an effect.
	links := map[string]bool{
		"self": true, "result": row.status == taskhttp.Succeeded,
		"stop": row.status == taskhttp.Running, "delete": row.status != taskhttp.Deleted,
	}
	for name, want := range links {
		if _, have := j.Links[name]; have != want {
			t.Errorf("link %s of %s: %t, want %t", name, r.body, have, want)
		}
	}
	if want := row.status != taskhttp.Queuing && row.status != taskhttp.Running && row.status != taskhttp.Stopping; j.Done != want {
		t.Errorf("done of %s is %t", row.status, j.Done)
	}
}

func checkDelete(t *testing.T, e *env, row row) {
	t.Helper()
	id := row.make(t, e)
	want := row.delete
	for range 2 { // a second one is ignored
		if r := e.do(t, "DELETE", path(id), ""); r.status != want || (r.body == "") != (want == http.StatusNoContent) {
			t.Errorf("delete: %d %s, want %d", r.status, r.body, want)
		}
		if row.after == unknown {
			want = http.StatusNoContent
		}
	}
	r := e.do(t, "GET", path(id), "")
	if row.after == unknown {
		check(t, "watch after delete", r, http.StatusNotFound, taskhttp.ErrNoSuchJob)
	} else if j := r.job(t); j.Status != row.after {
		t.Errorf("after delete: %s, want %s", r.body, row.after)
	}
}

// All operations but fetch answer with the job: a start QUEUING, a stop STOPPING, a delete DELETED. What a delete does
// not find, or belongs to another person, is no error and has no job.
func TestPTV15OperationsAnswerWithTheJob(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		taskhttp.Start(e.jobs, "POST "+startPath+"/waiting", workKind, inQueue("unserved"))
		e.runWorker(t)
		answered := func(r reply, status int, id taskkit.ID, want taskhttp.Status) {
			t.Helper()
			if r.status != status {
				t.Fatalf("%d %s, want %d", r.status, r.body, status)
			}
			if j := r.job(t); j.Status != want || id != uuid.Nil && j.ID != id {
				t.Errorf("%s, want %s of job %s", r.body, want, id)
			}
		}
		answered(e.do(t, "POST", startPath+"/waiting", `{"mode":"done"}`), 202, uuid.Nil, taskhttp.Queuing)
		id := e.held(t, hold).ID
		answered(e.do(t, "GET", path(id), ""), 200, id, taskhttp.Running)
		answered(e.do(t, "POST", path(id)+"/stop", ""), 202, id, taskhttp.Stopping)
		if r := e.as(uuid.New()).do(t, "DELETE", path(id), ""); r.status != 204 || r.body != "" {
			t.Errorf("delete by another person: %d %s", r.status, r.body)
		}
		for range 2 {
			answered(e.do(t, "DELETE", path(id), ""), 200, id, taskhttp.Deleted)
		}
		id = e.reach(t, e.start(t, done).ID, taskhttp.Succeeded).ID
		r := e.do(t, "DELETE", path(id), "")
		answered(r, 200, id, taskhttp.Deleted)
		if j := r.job(t); !j.Done || j.Fetchable || j.Progress != nil || len(j.Links) != 1 {
			t.Errorf("a deleted job: %s", r.body)
		}
		check(t, "delete again", e.do(t, "DELETE", path(id), ""), 204, nil)
	})
}

// A stopped job has a preliminary result (PTV-31).
func TestStoppedJobHasResult(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, count)
		if r := e.do(t, "POST", j.Links["self"].Href+"/stop", `{"reason":"enough"}`); r.status != 202 || r.job(t).Status != taskhttp.Stopping {
			t.Fatalf("stop: %d %s", r.status, r.body)
		}
		e.work.next <- struct{}{}
		if got := e.reach(t, j.ID, taskhttp.Succeeded); !got.Partial || got.Progress.Processed != 1 || *got.Progress.Total != 4 {
			t.Errorf("stopped: %+v", got)
		}
		for range 2 { // inside the retention it can be fetched again (PTV-30)
			if r := e.do(t, "GET", path(j.ID)+"/result", ""); r.status != 200 || r.body != `{"items":4}` {
				t.Errorf("result: %d %s", r.status, r.body)
			}
		}
	})
}

// A result that has been erased is told from one that never was (PTV-30). Its job can still
// be watched.
func TestExpiredResult(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		finished := e.reach(t, e.start(t, done).ID, taskhttp.Succeeded)
		id := finished.ID
		if finished.ExpiresAt == nil || !finished.ExpiresAt.After(*finished.FinishedAt) {
			t.Errorf("expires at %v, finished at %v", finished.ExpiresAt, finished.FinishedAt)
		}
		if r := e.do(t, "GET", path(id)+"/result", ""); r.status != http.StatusOK {
			t.Fatalf("result: %d %s", r.status, r.body)
		}
		fetched := e.do(t, "GET", path(id), "").job(t)
		if fetched.ExpiresAt == nil || !fetched.ExpiresAt.Before(*finished.ExpiresAt) || fetched.Revision == finished.Revision {
			t.Errorf("after the fetch %+v, before it %+v", fetched, finished)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE taskkit_task_result SET expiry_date = '2020-01-01 00:00:00.000'"); err != nil {
			t.Fatal(err)
		}
		s, err := dbstore.Open(t.Context(), db.DB, e.schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release(t.Context())
		if n, err := s.EraseResults(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("erased %d, %v", n, err)
		}
		for _, method := range []string{"GET", "HEAD"} {
			r := e.do(t, method, path(id)+"/result", "")
			if r.status != http.StatusGone {
				t.Errorf("%s of the expired result: %d %s", method, r.status, r.body)
			}
			if method == "GET" {
				check(t, "fetch", r, http.StatusGone, taskhttp.ErrExpired)
			}
		}
		r := e.do(t, "GET", path(id), "")
		if j := r.job(t); r.status != http.StatusOK || j.Status != taskhttp.Succeeded || !j.Done || j.Fetchable || j.Links["result"].Href != "" {
			t.Errorf("the job: %d %+v", r.status, j)
		}
		for _, mode := range []string{fail, hold} {
			j := e.start(t, mode)
			if j = e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=100ms", "").job(t); j.ExpiresAt != nil {
				t.Errorf("without a result: %+v", j)
			}
		}
	})
}

// The other requests: pause, resume and retry.
func TestPauseResumeRetry(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, count)
		self := path(j.ID)
		check(t, "resume", e.do(t, "POST", self+"/resume", ""), 409, taskhttp.ErrNotPossible)
		check(t, "retry", e.do(t, "POST", self+"/retry", ""), 409, taskhttp.ErrNotPossible)
		check(t, "pause", e.do(t, "POST", self+"/pause", ""), 202, nil)
		check(t, "pause again", e.do(t, "POST", self+"/pause", ""), 200, nil)
		check(t, "approve", e.do(t, "POST", self+"/approve", ""), 409, taskhttp.ErrNotPossible)
		e.work.next <- struct{}{}
		got := e.reach(t, j.ID, taskhttp.Queuing)
		if !got.Paused || got.Reason != "paused" || got.Links["resume"].Method != http.MethodPost || got.Links["pause"].Href != "" {
			t.Errorf("paused: %+v", got)
		}
		check(t, "resume", e.do(t, "POST", self+"/resume", ""), 202, nil)
		e.batch(t, j.ID)
		failed := e.reach(t, e.start(t, fail).ID, taskhttp.Failed)
		if failed.Error == nil || failed.Error.Code != "target_gone" || failed.Links["retry"].Href == "" {
			t.Errorf("failed: %+v", failed)
		}
		check(t, "pause failed", e.do(t, "POST", path(failed.ID)+"/pause", ""), 409, taskhttp.ErrNotPossible)
		check(t, "retry", e.do(t, "POST", path(failed.ID)+"/retry", ""), 202, nil)
		if p := e.do(t, "GET", path(e.reach(t, failed.ID, taskhttp.Failed).ID)+"/result", "").problem(t); p.Code != "target_gone" || p.Job == nil {
			t.Errorf("result of a failed job: %+v", p)
		}
	})
}
