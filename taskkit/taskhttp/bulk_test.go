package taskhttp_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskhttp"
)

// An operator counts jobs that match, and retries them by one job, which a repetition with the same key does not start again.
func TestBulkOperations(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t, taskbulk.Register)
		var ids []taskkit.ID
		for range 3 {
			ids = append(ids, e.deadJob(t))
		}
		if n := listed[taskhttp.BulkCount](t, e.operate(t, "GET", "/bulk?verb=retry&kind=work&code=target_gone", "")); n.Jobs != 3 || !n.Exact {
			t.Errorf("%+v", n)
		}
		const body = `{"verb":"retry","kind":"work","code":"target_gone","reason":"the target is back"}`
		var id taskkit.ID
		for i := range 2 {
			r := e.operate(t, "POST", "/bulk", body, "Idempotency-Key", "once")
			if r.status != 202 || (r.header.Get("Idempotent-Replayed") != "") != (i == 1) {
				t.Fatalf("%d %v %s", r.status, r.header, r.body)
			}
			var started taskhttp.BulkStarted
			decode(t, r.body, &started)
			if id == (taskkit.ID{}) {
				id = started.ID
			}
			if started.Jobs != 3 || started.ID != id || r.header.Get("Location") != "/jobs/"+id.String() {
				t.Errorf("%+v at %s", started, r.header.Get("Location"))
			}
			if _, err := e.client.Wait(testdb.Within(t), id, nil); err != nil {
				t.Fatal(err)
			}
		}
		check(t, "another request with the key", e.operate(t, "POST", "/bulk", `{"verb":"pause","kind":"work"}`, "Idempotency-Key", "once"), 422, taskhttp.ErrKeyReused)
		for _, of := range ids {
			if !e.did(t, of, "retry", "the target is back") {
				t.Errorf("job %s was not retried", of)
			}
		}
		job := e.do(t, "GET", "/jobs/"+id.String(), "").job(t)
		if job.Kind != taskbulk.Kind.Name() || job.Progress.Processed != 3 || !job.Done {
			t.Errorf("the job is %+v", job)
		}
	})
}

// What an operator gets wrong about a bulk operation has a problem, and nothing is started.
func TestWrongBulkOperations(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.start(t, done)
		for body, want := range map[string]*taskhttp.Error{
			`{}`:                                      taskhttp.ErrBadParameter,
			`{"verb":"retry"}`:                        taskhttp.ErrNotPossible,
			`{"verb":"explode","all":true}`:           taskhttp.ErrBadParameter,
			`{"verb":"stop","kind":"work"}`:           taskhttp.ErrBadParameter,
			`{"verb":"pause","kind":"Work"}`:          taskhttp.ErrBadParameter,
			`{"verb":"pause","kind":"taskkit_bulk"}`:  taskhttp.ErrBadParameter,
			`{"verb":"pause","owner":"ann"}`:          taskhttp.ErrBadParameter,
			`{"verb":"pause","status":"SLEEPING"}`:    taskhttp.ErrBadParameter,
			`{"verb":"retry","status":"QUEUING"}`:     taskhttp.ErrBadParameter,
			`{"verb":"retry","olderThan":"soon"}`:     taskhttp.ErrBadParameter,
			`{"verb":"pause","kind":"work","max":-1}`: taskhttp.ErrBadParameter,
			`{"verb":"retry","kind":"work"}`:          taskhttp.ErrNotPossible,
			`{"verb":"pause","kind":"work","x":1}`:    taskhttp.ErrNotJSON,
			`{"verb":"pause","ids":["x"]}`:            taskhttp.ErrNotJSON,
			`{"verb":1}`:                              taskhttp.ErrNotJSON,
			`{"verb":"pause","kind":"work","reason":"` + string(make([]byte, 1)) + `"}`: taskhttp.ErrNotJSON,
		} {
			check(t, body, e.operate(t, "POST", "/bulk", body), want.Status, want)
		}
		for _, q := range []string{"", "?verb=explode", "?verb=retry&status=QUEUING", "?verb=retry&limit=1", "?verb=pause&kind=taskkit_bulk"} {
			check(t, q, e.operate(t, "GET", "/bulk"+q, ""), 400, taskhttp.ErrBadParameter)
		}
		found, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{taskbulk.Kind.Name()}})
		if err != nil || len(found) > 0 {
			t.Errorf("%d bulk operations, %v", len(found), err)
		}
	})
}
