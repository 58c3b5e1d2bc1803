package taskhttp_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskhttp"
)

// An operator finds the jobs of everybody with their causes, and learns why one has failed, by HTTP alone.
func TestOperatorsFindCauses(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		document := newDocument(t)
		e.runWorker(t)
		other := e.as(uuid.New())
		failed := e.reach(t, e.start(t, fail).ID, taskhttp.Failed).ID
		unserved := submit(t, other, workKind, workSpec{Mode: done, Token: secretMarker}, taskkit.WithQueue("unserved"))
		running := other.held(t, hold).ID
		list := func(query string) map[taskkit.ID]taskhttp.OperatorJob {
			t.Helper()
			r := e.operate(t, "GET", "/jobs"+query, "")
			document.conforms(t, "GET", "/jobs/operator/jobs", r)
			var page taskhttp.OperatorPage
			decode(t, r.body, &page)
			found := map[taskkit.ID]taskhttp.OperatorJob{}
			for _, j := range page.Jobs {
				found[j.ID] = j
			}
			return found
		}
		all := list("")
		for id, want := range map[taskkit.ID]taskcause.Cause{failed: taskcause.Failed, unserved: taskcause.QueueNotServed, running: taskcause.Running} {
			if all[id].Cause != want {
				t.Errorf("%+v, want the cause %s", all[id], want)
			}
		}
		if len(all) != 3 || all[failed].Code != "target_gone" || all[failed].Owner != e.person || all[running].Worker == "" {
			t.Errorf("jobs %+v", all)
		}
		for query, want := range map[string]int{
			"?owner=" + other.person.String(): 2, "?queue=unserved": 1, "?status=FAILED": 1, "?kind=pieces": 0, "?parent=" + failed.String(): 0, "?limit=1": 1,
		} {
			if got := list(query); len(got) != want {
				t.Errorf("%s: %d jobs, want %d", query, len(got), want)
			}
		}
		for _, bad := range []string{"?owner=x", "?owner=" + uuid.Nil.String(), "?queue=X", "?parent=1", "?status=EXECUTING"} {
			check(t, bad, e.operate(t, "GET", "/jobs"+bad, ""), 400, taskhttp.ErrBadParameter)
		}

		e.do(t, "POST", path(failed)+"/retry", `{"reason":"the target is back"}`)
		e.reach(t, failed, taskhttp.Failed)
		r := e.do(t, "GET", "/jobs/operator/jobs/"+failed.String(), "", "Operator", "yes")
		document.conforms(t, "GET", "/jobs/operator/jobs/{id}", r)
		var why taskhttp.Explained
		decode(t, r.body, &why)
		if !strings.Contains(why.Explanation, detailMarker) || why.Job.Cause != taskcause.Failed || len(why.Attempts) != 2 || !strings.Contains(why.Attempts[0].Detail, detailMarker) ||
			len(why.Events) != 1 || why.Events[0].Reason != "the target is back" || why.Events[0].Actor != e.person {
			t.Errorf("%s", r.body)
		}
		check(t, "unknown", e.operate(t, "GET", "/jobs/"+uuid.NewString(), ""), 404, taskhttp.ErrNoSuchJob)

		r = e.operate(t, "GET", "/workers", "")
		document.conforms(t, "GET", "/jobs/operator/workers", r)
		var workers taskhttp.WorkerList
		decode(t, r.body, &workers)
		if len(workers.Workers) != 1 || !workers.Workers[0].Alive || workers.Workers[0].Slots != 40 || workers.Workers[0].Kinds["work"] == nil {
			t.Errorf("%s", r.body)
		}
	})
}

// A job that has reached its stop policy goes on after a higher one is set.
func TestStopPolicyIsRaised(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		id := submit(t, e, piecesKind, piecesSpec{[]string{"a", "bad", "b", "c", "d", "e"}}, taskkit.WithStopAfter("1"))
		e.paused(t, id)
		for _, bad := range []string{"0", "-1", "x", "101%", "0.5%", "5.123%", "%", "1e3", "9999999999999999999"} {
			check(t, bad, e.do(t, "PATCH", path(id), `{"stopAfter":"`+bad+`"}`), 400, taskhttp.ErrBadParameter)
		}
		if _, has := e.do(t, "GET", path(id), "").job(t).Links["resume"]; has {
			t.Error("it can be resumed at its limit")
		}
		r := e.do(t, "PATCH", path(id), `{"stopAfter":"50%"}`)
		if _, has := r.job(t).Links["resume"]; r.status != 200 || !has {
			t.Fatalf("%d %s", r.status, r.body)
		}
		check(t, "resume", e.do(t, "POST", path(id)+"/resume", ""), 202, nil)
		if j := e.reach(t, id, taskhttp.Succeeded); j.Progress.Processed != 6 {
			t.Errorf("%+v", j.Progress)
		}
	})
}
