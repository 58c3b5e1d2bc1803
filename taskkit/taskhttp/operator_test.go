package taskhttp_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// operatorCalls are all calls of operators, with bodies that are accepted. The schedule s exists.
var operatorCalls = []struct{ method, template, path, body string }{
	{"GET", "/schedules", "/schedules", ""},
	{"GET", "/schedules", "/schedules?limit=1&cursor=a", ""},
	{"GET", "/schedules/{name}", "/schedules/s", ""},
	{"PUT", "/schedules/{name}", "/schedules/s", `{"cron":"0 5 * * *","overlap":"buffer","uniqueKey":"u","limits":{"k":1},"timeLimitMs":1,"window":"22:00-06:00 Europe/Oslo"}`},
	{"POST", "/schedules/{name}/pause", "/schedules/s/pause", `{"reason":"x"}`},
	{"POST", "/schedules/{name}/resume", "/schedules/s/resume", ""},
	{"POST", "/schedules/{name}/trigger", "/schedules/s/trigger", ""},
	{"GET", "/queues", "/queues", ""},
	{"POST", "/queues/{name}/pause", "/queues/q/pause", `{"reason":"x"}`},
	{"POST", "/queues/{name}/resume", "/queues/q/resume", ""},
	{"GET", "/jobs", "/jobs?kind=work&status=QUEUING&queue=default&limit=1", ""},
	{"GET", "/jobs/{id}", "/jobs/00000000-0000-4000-8000-00000000000a", ""},
	{"GET", "/workers", "/workers", ""},
	{"GET", "/dead", "/dead?kind=work&code=database&queue=default&olderThan=1h", ""},
	{"GET", "/dead/jobs", "/dead/jobs?limit=1", ""},
	{"POST", "/dead/retry", "/dead/retry", `{"code":"database"}`},
	{"POST", "/dead/drop", "/dead/drop", `{"code":"database","reason":"x"}`},
	{"GET", "/bulk", "/bulk?verb=retry&kind=work&status=FAILED&code=database&queue=default&olderThan=1h&children=false", ""},
	{"POST", "/bulk", "/bulk", `{"verb":"pause","kind":"work","status":"QUEUING","queue":"default","reason":"x","max":10}`},
	{"GET", "/limits", "/limits?limit=1&cursor=a", ""},
	{"PUT", "/limits", "/limits?key=k", `{"atMost":1}`},
	{"DELETE", "/limits", "/limits?key=k", ""},
	{"DELETE", "/schedules/{name}", "/schedules/s", ""},
	{"GET", "/changes", "/changes?setting=limit&name=k&limit=1", ""},
	{"GET", "/doctor", "/doctor", ""},
}

// operate makes a request of an operator, whose answer is documented and has nothing that is private.
func (e *env) operate(t *testing.T, method, below, body string, header ...string) reply {
	t.Helper()
	r := e.do(t, method, "/jobs/operator"+below, body, append(header, "Operator", "yes")...)
	if !strings.HasPrefix(below, "/doctor") { // its report names the database and has statements for it
		leaksNothing(t, method+" "+below, r)
	}
	return r
}

// nightly makes the schedule of a name, as a program does when it starts.
func (e *env) nightly(t *testing.T, name string) {
	t.Helper()
	err := taskops.SetSchedule(t.Context(), e.db.DB, workKind, name, workSpec{Mode: done, Token: secretMarker}, taskops.Schedule{Cron: "30 2 * * *", Zone: "Europe/Oslo"}, taskkit.WithSchema(e.schema))
	if err != nil {
		t.Fatal(err)
	}
}

// Who is no operator changes nothing and learns nothing. Without an authorizer the calls do not exist, and are not documented.
func TestOnlyOperatorsOperate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.nightly(t, "s")
		without := newEnv(t, db, func(c *taskhttp.Config) { c.Operator = nil })
		for _, c := range operatorCalls {
			name, address := c.method+" "+c.path, "/jobs/operator"+c.path
			check(t, name+" of a person", e.do(t, c.method, address, c.body), 403, taskhttp.ErrForbidden)
			check(t, name+" of nobody", e.do(t, c.method, address, c.body, "Person", "", "Operator", "yes"), 401, taskhttp.ErrUnauthenticated)
			check(t, name+" without an authorizer", without.do(t, c.method, address, c.body, "Operator", "yes"), 404, taskhttp.ErrNoSuchPath)
			unknown := strings.Replace(address, "/schedules/s", "/schedules/unknown", 1)
			check(t, name+" of a person about an unknown one", e.do(t, c.method, unknown, c.body), 403, taskhttp.ErrForbidden)
			check(t, name+" of a person with a wrong body", e.do(t, c.method, address+"?x=1", "{"), 403, taskhttp.ErrForbidden)
		}
		s, err := taskops.New(e.client).Schedule(t.Context(), "s")
		if err != nil || s.Version != 1 || s.Paused || s.Triggered {
			t.Errorf("it was changed by nobody: %+v, %v", s, err)
		}
		if document := without.do(t, "GET", "/jobs/openapi.json", "").body; strings.Contains(document, "/operator") || strings.Contains(document, "DeadGroup") {
			t.Error("the document has calls that do not exist")
		}
	})
}

// The operation says what is asked for, so that some may read what only others change.
func TestOperationsOfOperators(t *testing.T) {
	t.Parallel()
	asked := make(chan taskhttp.Operation, 1)
	e := newEnv(t, testdb.SQLite(t), func(c *taskhttp.Config) {
		c.Operator = func(ctx context.Context, who taskhttp.Caller, op taskhttp.Operation) error {
			asked <- op
			return onlyOperators(ctx, who, op)
		}
	})
	want := map[string]taskhttp.Operation{
		"GET schedules": taskhttp.OpReadSchedules, "GET queues": taskhttp.OpReadQueues, "GET dead": taskhttp.OpReadDead,
		"PUT schedules": taskhttp.OpChangeSchedules, "POST schedules": taskhttp.OpChangeSchedules, "DELETE schedules": taskhttp.OpChangeSchedules,
		"POST queues": taskhttp.OpChangeQueues, "GET limits": taskhttp.OpReadLimits, "PUT limits": taskhttp.OpChangeLimits, "DELETE limits": taskhttp.OpChangeLimits,
		"GET changes": taskhttp.OpReadChanges, "GET doctor": taskhttp.OpReadDoctor,
		"GET jobs": taskhttp.OpReadJobs, "GET one": taskhttp.OpExplainJobs, "GET workers": taskhttp.OpReadWorkers,
		"GET bulk": taskhttp.OpReadJobs, "POST bulk": taskhttp.OpBulk,
		"POST retry": taskhttp.OpRetryDead, "POST drop": taskhttp.OpDropDead,
	}
	for _, c := range operatorCalls {
		segments := strings.Split(c.template, "/")
		name := c.method + " " + segments[1]
		if name == "POST dead" {
			name = "POST " + segments[2]
		}
		if c.template == "/jobs/{id}" {
			name = "GET one"
		}
		e.do(t, c.method, "/jobs/operator"+c.path, c.body)
		if op := <-asked; op != want[name] {
			t.Errorf("%s %s asks for %s, want %s", c.method, c.path, op, want[name])
		}
	}
}

// Each answer to an operator is in the document.
func TestAnswersToOperatorsAreDocumented(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.nightly(t, "s")
		e.start(t, done) // no worker takes it
		document := newDocument(t)
		documented := map[string]bool{}
		for path, methods := range document.Paths {
			for method := range methods {
				if strings.HasPrefix(path, "/jobs/operator/") && method != "parameters" {
					documented[strings.ToUpper(method)+" "+strings.TrimPrefix(path, "/jobs/operator")] = true
				}
			}
		}
		for _, c := range operatorCalls {
			delete(documented, c.method+" "+c.template)
			r := e.operate(t, c.method, c.path, c.body)
			if r.status/100 != 2 && c.template != "/jobs/{id}" { // that of an unknown job
				t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
			}
			document.conforms(t, c.method, "/jobs/operator"+c.template, r)
			document.conforms(t, c.method, "/jobs/operator"+c.template, e.operate(t, c.method, c.path+"?x=1", c.body))
			document.conforms(t, c.method, "/jobs/operator"+c.template, e.do(t, c.method, "/jobs/operator"+c.path, c.body))
			if c.body != "" {
				document.conforms(t, c.method, "/jobs/operator"+c.template, e.operate(t, c.method, c.path, `{"x":1}`))
			}
		}
		if len(documented) > 0 {
			t.Errorf("no test calls %v", slices.Collect(maps.Keys(documented)))
		}
	})
}

// Whatever an operator gets wrong has a problem, and nothing is changed.
func TestWrongRequestsOfOperators(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1001)
	cases := []struct {
		method, path, body string
		want               *taskhttp.Error
	}{
		{"GET", "/schedules?limit=0", "", taskhttp.ErrBadParameter},
		{"GET", "/schedules?limit=201", "", taskhttp.ErrBadParameter},
		{"GET", "/schedules?cursor=%00", "", taskhttp.ErrBadParameter},
		{"GET", "/schedules?x=1", "", taskhttp.ErrBadParameter},
		{"GET", "/schedules/none", "", taskhttp.ErrNoSuchSchedule},
		{"GET", "/schedules/%00", "", taskhttp.ErrNoSuchSchedule},
		{"GET", "/schedules/%FF", "", taskhttp.ErrNoSuchSchedule},
		{"POST", "/schedules/none/pause", "", taskhttp.ErrNoSuchSchedule},
		{"POST", "/schedules/none/resume", "", taskhttp.ErrNoSuchSchedule},
		{"POST", "/schedules/none/trigger", "", taskhttp.ErrNoSuchSchedule},
		{"POST", "/schedules/s/pause", `{"reason":"` + long + `"}`, taskhttp.ErrBadParameter},
		{"POST", "/schedules/s/pause", `{"why":"x"}`, taskhttp.ErrNotJSON},
		{"POST", "/schedules/s/pause", `{`, taskhttp.ErrNotJSON},
		{"POST", "/schedules/s/explode", "", taskhttp.ErrNoSuchPath},
		{"DELETE", "/schedules/none", "", taskhttp.ErrNoSuchSchedule},
		{"PATCH", "/schedules/s", "{}", taskhttp.ErrMethod},
		{"POST", "/schedules", "{}", taskhttp.ErrMethod},
		{"PUT", "/schedules/s", "", taskhttp.ErrMediaType},
		{"PUT", "/schedules/s", `{"cron":`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s", `{"cron":1}`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s", `{"corn":"0 5 * * *"}`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s", `{"owner":"ann"}`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s", `{"priority":1.5}`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s", `[]`, taskhttp.ErrNotJSON},
		{"PUT", "/schedules/s?x=1", `{}`, taskhttp.ErrBadParameter},
		{"PUT", "/schedules/s", `{"cron":"61 * * * *"}`, taskhttp.ErrSchedule},
		{"PUT", "/schedules/S", `{"cron":"0 5 * * *"}`, taskhttp.ErrSchedule},
		{"PUT", "/schedules/%FF%FE", `{"cron":"0 5 * * *"}`, taskhttp.ErrSchedule},
		{"PUT", "/schedules/%00", `{}`, taskhttp.ErrSchedule},
		{"PUT", "/schedules/new", `{"cron":"0 5 * * *"}`, taskhttp.ErrSchedule},
		{"GET", "/queues?limit=1", "", taskhttp.ErrBadParameter},
		{"POST", "/queues/Q/pause", "", taskhttp.ErrNoSuchPath},
		{"POST", "/queues/%00/resume", "", taskhttp.ErrNoSuchPath},
		{"POST", "/queues/q/pause", `{"reason":"` + long + `"}`, taskhttp.ErrBadParameter},
		{"POST", "/queues/q/pause", `{"for":"1h"}`, taskhttp.ErrNotJSON},
		{"POST", "/queues/q/pause", `null x`, taskhttp.ErrNotJSON},
		{"DELETE", "/queues/q", "", taskhttp.ErrNoSuchPath},
		{"GET", "/dead?kind=%00", "", taskhttp.ErrBadParameter},
		{"GET", "/dead?code=%00", "", taskhttp.ErrBadParameter},
		{"GET", "/dead?queue=Q", "", taskhttp.ErrBadParameter},
		{"GET", "/dead?olderThan=-1h", "", taskhttp.ErrBadParameter},
		{"GET", "/dead?olderThan=", "", taskhttp.ErrBadParameter},
		{"GET", "/dead?limit=1", "", taskhttp.ErrBadParameter},
		{"GET", "/dead/jobs?limit=x", "", taskhttp.ErrBadParameter},
		{"GET", "/dead/jobs?cursor=1", "", taskhttp.ErrBadParameter},
		{"POST", "/dead/drop", "", taskhttp.ErrMediaType},
		{"POST", "/dead/drop", `{}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/drop", `{"reason":"x"}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/drop", `{"all":false}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/drop", `{"all":"yes"}`, taskhttp.ErrNotJSON},
		{"POST", "/dead/drop", `{"kinds":["work"]}`, taskhttp.ErrNotJSON},
		{"POST", "/dead/drop", `{"all":true,"olderThan":"14 days"}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/drop", `{"all":true,"reason":"` + long + `"}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/retry?x=1", `{"all":true}`, taskhttp.ErrBadParameter},
		{"POST", "/dead/retry", `{"kind":"Work"}`, taskhttp.ErrBadParameter},
		{"GET", "/dead/retry", "", taskhttp.ErrMethod},
		{"GET", "/nothing", "", taskhttp.ErrNoSuchPath},
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		e.nightly(t, "s")
		id := e.deadJob(t)
		for _, c := range cases {
			check(t, c.method+" "+c.path+" "+c.body, e.operate(t, c.method, c.path, c.body), c.want.Status, c.want)
		}
		s, err := taskops.New(e.client).Schedule(t.Context(), "s")
		if err != nil || s.Version != 1 {
			t.Errorf("the schedule has changed: %+v, %v", s, err)
		}
		if task, err := e.client.Task(t.Context(), id); err != nil || task.Status != taskkit.StatusFailure {
			t.Errorf("the dead letter has changed: %+v, %v", task, err)
		}
		if queues, err := taskops.New(e.client).Queues(t.Context()); err != nil || slices.ContainsFunc(queues, func(q taskops.QueueInfo) bool { return q.PausedDate != nil }) {
			t.Errorf("a queue was paused: %+v, %v", queues, err)
		}
	})
}

// deadJob lets a worker that runs already fail a job of another person.
func (e *env) deadJob(t *testing.T, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.OwnedBy(uuid.New()), taskkit.WithSchema(e.schema)}, opts...)
	id, err := taskkit.Submit(t.Context(), e.db.DB, workKind, workSpec{Mode: fail, Token: secretMarker}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.Wait(testdb.Within(t), id, nil); err != nil {
		t.Fatal(err)
	}
	return id
}

// listed decodes an answer that must be 200.
func listed[T any](t *testing.T, r reply) (v T) {
	t.Helper()
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	decode(t, r.body, &v)
	return v
}
