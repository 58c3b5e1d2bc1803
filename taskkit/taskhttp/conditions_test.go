package taskhttp_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// A refusal says which condition of the task withholds it.
func TestConditionsAreNamed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		taskhttp.Start(e.jobs, "POST /people/approved", workKind, withOptions(taskkit.WithApproval()))
		taskhttp.Start(e.jobs, "POST /people/limited", piecesKind, taskhttp.Before(optionsOf[piecesSpec](taskkit.WithStopAfter("1"))))
		refused := func(id taskkit.ID, op, want string) {
			t.Helper()
			r := e.do(t, "POST", path(id)+"/"+op, "")
			check(t, op, r, 409, taskhttp.ErrNotPossible)
			if got := r.problem(t).Detail; got != want {
				t.Errorf("%s: %q, want %q", op, got, want)
			}
		}
		approved := e.do(t, "POST", "/people/approved", `{"mode":"done"}`).job(t).ID
		refused(approved, "resume", "the job waits for an approval")
		refused(approved, "approve", "the job must be approved by somebody else than its owner and who has started it")
		plain := e.start(t, done).ID
		check(t, "pause", e.do(t, "POST", path(plain)+"/pause", ""), 202, nil)
		refused(plain, "approve", "the job does not wait for an approval: resume it")
		e.runWorker(t)
		limited := e.do(t, "POST", "/people/limited", `{"pieces":["a","bad","b","c","d"]}`).job(t).ID
		e.paused(t, limited)
		refused(limited, "resume", "the job has reached its limit of failed items")
	})
}

// paused waits until a job is paused and has left its worker.
func (e *env) paused(tb testing.TB, id taskkit.ID) {
	tb.Helper()
	for since := ""; ; {
		j := e.do(tb, "GET", path(id)+"?maximumPollingPeriod=30s"+since, "").job(tb)
		if j.Status == taskhttp.Queuing && j.Paused {
			return
		}
		if j.Done {
			tb.Fatalf("not paused: %+v", j)
		}
		since = "&since=" + j.Revision
	}
}
