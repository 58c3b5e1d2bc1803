package taskhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// bucketKind has tasks with buckets. No worker of the tests serves it.
var bucketKind = taskkit.NewKind(taskkind.Definition[struct{}, workState, struct{}]{Name: "bucketed", Segments: true})

// settingsOf says what of a task can be set, and what its events say.
func (e *env) settingsOf(tb testing.TB, id taskkit.ID) string {
	tb.Helper()
	task, err := e.client.Task(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	var said strings.Builder
	fmt.Fprint(&said, task.Priority)
	events, err := e.client.Events(tb.Context(), id, 10)
	if err != nil {
		tb.Fatal(err)
	}
	for _, event := range slices.Backward(events) {
		if event.Actor != e.person {
			tb.Errorf("event %+v is not of the caller", event)
		}
		said.WriteString(", " + event.Action + " " + event.Reason)
	}
	return said.String()
}

// Settings are changed together or not at all, and each change is recorded.
func TestSettings(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		taskhttp.Start(e.jobs, "POST /people/buckets", bucketKind)
		bucketed := e.do(t, "POST", "/people/buckets", "{}").job(t)
		if got := bucketed.Links["change"]; got.Method != http.MethodPatch || got.Href != path(bucketed.ID) {
			t.Errorf("links %v", bucketed.Links)
		}
		for _, body := range []string{`{"priority":1}`, `{"maxParallel":5}`, `{"priority":4,"maxParallel":6,"reason":"quiet night"}`} {
			r := e.do(t, "PATCH", path(bucketed.ID), body)
			if r.status != 200 || r.job(t).ID != bucketed.ID || r.job(t).Links["change"].Method != http.MethodPatch {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		const want = "4, change priority 1, change max parallel 5, change priority 4, max parallel 6: quiet night"
		if got := e.settingsOf(t, bucketed.ID); got != want {
			t.Errorf("settings and events: %s, want %s", got, want)
		}
		for _, body := range []string{`{"maxRate":5}`, `{"priority":1,"maxRate":0}`} {
			r := e.do(t, "PATCH", path(bucketed.ID), body)
			check(t, body+" with buckets", r, 409, taskhttp.ErrNotPossible)
			if p := r.problem(t); !strings.Contains(p.Detail, "has buckets") {
				t.Errorf("%s with buckets: %s", body, r.body)
			}
		}
		if got := e.settingsOf(t, bucketed.ID); got != want {
			t.Errorf("refused changes have changed %s", got)
		}
		plain := e.start(t, done)
		for _, body := range []string{`{"maxParallel":5}`, `{"priority":1,"maxParallel":5}`, `{"maxParallel":5,"maxRate":5}`} {
			r := e.do(t, "PATCH", path(plain.ID), body)
			check(t, body+" without buckets", r, 409, taskhttp.ErrNotPossible)
			if p := r.problem(t); p.Job == nil || p.Job.ID != plain.ID || p.Detail == "" {
				t.Errorf("%s without buckets: %s", body, r.body)
			}
		}
		if got := e.settingsOf(t, plain.ID); got != "2" {
			t.Errorf("refused changes have changed %s", got)
		}
	})
}

// The rate of a job is set, changed together with its priority, and removed.
func TestMaxRate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		job := e.start(t, done)
		for _, body := range []string{`{"maxRate":0.5}`, `{"priority":3,"maxRate":20,"reason":"office hours"}`, `{"maxRate":0}`} {
			if r := e.do(t, "PATCH", path(job.ID), body); r.status != 200 || r.job(t).ID != job.ID {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
		const want = "3, change max rate 0.5, change priority 3, max rate 20: office hours, change no max rate"
		if got := e.settingsOf(t, job.ID); got != want {
			t.Errorf("settings and events: %s, want %s", got, want)
		}
		check(t, "of another person", e.as(uuid.New()).do(t, "PATCH", path(job.ID), `{"maxRate":1}`), 404, taskhttp.ErrNoSuchJob)
		for _, rate := range []*float64{new(12.5), new(0.0)} {
			if j, err := e.caller().Change(t.Context(), job.ID, taskhttp.Settings{MaxRate: rate}); err != nil || j.ID != job.ID {
				t.Errorf("%v by the client of Go: %+v, %v", *rate, j, err)
			}
		}
		if got := e.settingsOf(t, job.ID); got != want+", change max rate 12.5, change no max rate" {
			t.Errorf("settings and events: %s", got)
		}
	})
}

// Settings that cannot be are refused for what is wrong, and nothing is changed.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		self := path(e.start(t, done).ID)
		for body, want := range map[string]*taskhttp.Error{
			`{}`: taskhttp.ErrBadParameter, `{"reason":"x"}`: taskhttp.ErrBadParameter, `{"priority":0}`: taskhttp.ErrBadParameter, `{"priority":5}`: taskhttp.ErrBadParameter,
			`{"priority":-9223372036854775808}`: taskhttp.ErrBadParameter, `{"priority":1,"maxParallel":0}`: taskhttp.ErrBadParameter,
			`{"maxParallel":1000001}`: taskhttp.ErrBadParameter, `{"speed":1}`: taskhttp.ErrNotJSON, `{"priority":1,"speed":1}`: taskhttp.ErrNotJSON,
			`{"priority":1,"reason":"` + strings.Repeat("x", 1001) + `"}`: taskhttp.ErrBadParameter,
			`{"priority":null}`: taskhttp.ErrNotJSON, `{"priority":"1"}`: taskhttp.ErrNotJSON, `{"priority":1.5}`: taskhttp.ErrNotJSON,
			`{"maxRate":-1}`: taskhttp.ErrBadParameter, `{"maxRate":0.0001}`: taskhttp.ErrBadParameter, `{"maxRate":1000001}`: taskhttp.ErrBadParameter,
			`{"priority":1,"maxRate":1e-300}`: taskhttp.ErrBadParameter, `{"maxRate":1e400}`: taskhttp.ErrNotJSON, `{"maxRate":null}`: taskhttp.ErrNotJSON,
			`{"maxRate":"1"}`: taskhttp.ErrNotJSON, `{"maxRate":"NaN"}`: taskhttp.ErrNotJSON, `{"maxRate":{}}`: taskhttp.ErrNotJSON,
			`{"priority":1,"priority":2}`: taskhttp.ErrNotJSON, `[]`: taskhttp.ErrNotJSON, `{`: taskhttp.ErrNotJSON,
		} {
			r := e.do(t, "PATCH", self, body)
			check(t, body, r, 400, want)
			leaksNothing(t, body, r)
		}
		if p := e.do(t, "PATCH", self, `{"priority":1,"speed":1}`).problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/speed" {
			t.Errorf("an unknown member: %+v", p)
		}
		if p := e.do(t, "PATCH", self, `{"priority":null}`).problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/priority" {
			t.Errorf("null: %+v", p)
		}
		check(t, "no body", e.do(t, "PATCH", self, ""), 415, taskhttp.ErrMediaType)
		check(t, "form", e.do(t, "PATCH", self, `{"priority":1}`, "Content-Type", "text/plain"), 415, taskhttp.ErrMediaType)
		check(t, "parameter", e.do(t, "PATCH", self+"?x=1", `{"priority":1}`), 400, taskhttp.ErrBadParameter)
		check(t, "unknown", e.do(t, "PATCH", path(uuid.New()), `{"priority":1}`), 404, taskhttp.ErrNoSuchJob)
		check(t, "the document", e.do(t, "PATCH", "/jobs/openapi.json", `{"priority":1}`), 405, taskhttp.ErrMethod)
		task, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Owner: e.person})
		if err != nil || len(task) != 1 || e.settingsOf(t, task[0].ID) != "2" {
			t.Errorf("refused requests have changed %+v, %v", task, err)
		}
	})
}

// The settings of a job can be changed in each status in which its work goes on.
func TestSettingsByStatus(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		taskhttp.Start(e.jobs, "POST "+startPath+"/waiting", workKind, inQueue("unserved"))
		e.runWorker(t)
		for _, row := range table {
			status, problem := 409, taskhttp.ErrNotPossible
			switch row.status {
			case taskhttp.Queuing, taskhttp.Running:
				status, problem = 200, nil
			case unknown:
				status, problem = 404, taskhttp.ErrNoSuchJob
			default:
			}
			id := row.make(t, e)
			r := e.do(t, "PATCH", path(id), `{"priority":3}`)
			check(t, "change "+string(row.status), r, status, problem)
			if row.status == unknown {
				continue
			}
			_, linked := e.do(t, "GET", path(id), "").job(t).Links["change"]
			if linked != (status == 200) {
				t.Errorf("a link to change a job that is %s: %t", row.status, linked)
			}
		}
	})
}

// A job that ends between the read and the change is refused as one that has ended.
func TestSettingsOfJobThatEnds(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		var stop func(taskkit.ID)
		e := newEnv(t, db, func(c *taskhttp.Config) {
			c.Authorize = func(_ context.Context, _ taskhttp.Caller, op taskhttp.Operation, task *taskkit.Task) error {
				if op == taskhttp.OpChange && stop != nil {
					stop(task.ID)
				}
				return nil
			}
		})
		for _, body := range []string{`{"priority":1}`, `{"priority":1,"maxParallel":2}`} {
			j := e.start(t, done)
			stop = func(id taskkit.ID) {
				stop = nil
				if _, err := e.client.Stop(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			r := e.do(t, "PATCH", path(j.ID), body)
			check(t, body, r, 409, taskhttp.ErrNotPossible)
			if p := r.problem(t); p.Job == nil || p.Job.Status != taskhttp.Succeeded {
				t.Errorf("%s: %s", body, r.body)
			}
		}
	})
}
