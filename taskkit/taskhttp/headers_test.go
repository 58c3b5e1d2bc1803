package taskhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// A change is made only of the job that the client has read, if it says so.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		changes := []struct{ method, below, body string }{
			{"POST", "/pause", ""}, {"POST", "/resume", ""}, {"PATCH", "", `{"priority":3}`}, {"POST", "/stop", ""}, {"POST", "/retry-failed", ""}, {"DELETE", "", ""},
		}
		for _, c := range changes {
			j := e.held(t, hold)
			switch c.below {
			case "/resume":
				e.do(t, "POST", path(j.ID)+"/pause", "")
			case "/retry-failed":
				j = e.ended(t, "bad")
			}
			read := e.do(t, "GET", path(j.ID), "")
			for _, other := range []string{`W/"000000000000.000000000000"`, `"x", "y"`, `""`} {
				check(t, c.method+c.below, e.do(t, c.method, path(j.ID)+c.below, c.body, "If-Match", other), 412, taskhttp.ErrPrecondition)
			}
			if again := e.do(t, "GET", path(j.ID), ""); again.job(t).Revision != read.job(t).Revision {
				t.Errorf("%s%s has changed the job: %s", c.method, c.below, again.body)
			}
			if r := e.do(t, c.method, path(j.ID)+c.below, c.body, "If-Match", `"x", `+read.header.Get("ETag")); r.status >= 300 {
				t.Errorf("%s%s of the job as it is: %d %s", c.method, c.below, r.status, r.body)
			}
			e.work.next <- struct{}{}
		}
		if r := e.do(t, "POST", path(e.held(t, hold).ID)+"/stop", "", "If-Match", "*"); r.status != http.StatusAccepted {
			t.Errorf("any job: %d %s", r.status, r.body)
		}
	})
}

// A schedule is changed only as the client has read it, if it says so.
func TestIfMatchOfASchedule(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		e.reach(t, e.start(t, done).ID, taskhttp.Succeeded) // the worker is there
		operator := []string{"Operator", "yes"}
		do := func(method, below, body string, header ...string) reply {
			return e.do(t, method, "/jobs/operator/schedules/nightly"+below, body, append(header, operator...)...)
		}
		const body = `{"kind":"work","spec":{"mode":"done"},"cron":"30 2 * * *"}`
		check(t, "no schedule", do("PUT", "", body, "If-Match", "*"), 412, taskhttp.ErrPrecondition)
		check(t, "new", do("PUT", "", body), 200, nil)
		tag := do("GET", "", "").header.Get("ETag")
		for _, c := range []struct{ method, below, body string }{{"PUT", "", `{"cron":"40 2 * * *"}`}, {"POST", "/pause", ""}, {"DELETE", "", ""}} {
			check(t, c.method+c.below, do(c.method, c.below, c.body, "If-Match", `"000000000000"`), 412, taskhttp.ErrPrecondition)
		}
		check(t, "as it is", do("PUT", "", `{"cron":"40 2 * * *"}`, "If-Match", tag), 200, nil)
		check(t, "as it was", do("POST", "/pause", "", "If-Match", tag), 412, taskhttp.ErrPrecondition)
	})
}

// A change is not made if there is what the client says that there is not. What has no ETag takes no precondition.
func TestIfNoneMatchOfChanges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.held(t, hold)
		const schedule = `{"kind":"work","spec":{"mode":"done"},"cron":"30 2 * * *"}`
		check(t, "a new schedule", e.operate(t, "PUT", "/schedules/nightly", schedule, "If-None-Match", "*"), 200, nil)
		tag := e.operate(t, "GET", "/schedules/nightly", "").header.Get("ETag")
		for _, none := range []string{"*", tag, `"x", ` + tag} {
			check(t, "a schedule that exists", e.operate(t, "PUT", "/schedules/nightly", `{"priority":1}`, "If-None-Match", none), 412, taskhttp.ErrPrecondition)
			check(t, "a request on it", e.operate(t, "POST", "/schedules/nightly/pause", "", "If-None-Match", none), 412, taskhttp.ErrPrecondition)
			check(t, "its removal", e.operate(t, "DELETE", "/schedules/nightly", "", "If-None-Match", none), 412, taskhttp.ErrPrecondition)
		}
		if now := e.operate(t, "GET", "/schedules/nightly", "").header.Get("ETag"); now != tag {
			t.Errorf("the schedule has the tag %s, want %s", now, tag)
		}
		check(t, "as it is not", e.operate(t, "PUT", "/schedules/nightly", `{"priority":1}`, "If-None-Match", `"x"`), 200, nil)
		check(t, "both", e.operate(t, "PUT", "/schedules/nightly", `{"priority":3}`, "If-Match", "*", "If-None-Match", `"x"`), 200, nil)
		for _, c := range []struct{ method, below, body string }{{"POST", "/pause", ""}, {"PATCH", "", `{"priority":3}`}, {"POST", "/stop", ""}, {"DELETE", "", ""}} {
			check(t, c.method+c.below, e.do(t, c.method, path(j.ID)+c.below, c.body, "If-None-Match", "*"), 412, taskhttp.ErrPrecondition)
		}
		for _, name := range []string{"If-Match", "If-None-Match"} {
			check(t, "a start", e.do(t, "POST", startPath, `{"mode":"done"}`, name, "*"), 400, taskhttp.ErrBadParameter)
			for _, c := range []struct{ method, below, body string }{
				{"PUT", "/limits?key=k", `{"atMost":4}`}, {"DELETE", "/limits?key=k", ""}, {"POST", "/queues/default/pause", ""}, {"POST", "/dead/drop", `{"all":true}`},
			} {
				r := e.operate(t, c.method, c.below, c.body, name, "*")
				check(t, c.method+c.below, r, 400, taskhttp.ErrBadParameter)
				if !strings.HasPrefix(r.problem(t).Detail, name+" ") {
					t.Errorf("%s %s does not name %s: %s", c.method, c.below, name, r.body)
				}
			}
		}
	})
}

// A range of another unit, or none, is ignored.
func TestRangeOfAnotherUnit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.reach(t, e.start(t, done).ID, taskhttp.Succeeded)
		file := e.rollIn(t, t.TempDir(), "roll.csv", 10).ID
		for _, text := range []string{"items=0-1", "bytes", "bytes=", "bytes=x-y", "bytes 0-1", "lines=1-2", "bytes=1"} {
			for _, id := range []taskkit.ID{j.ID, file} {
				for _, below := range []string{"", "/items", "/result"} {
					if r := e.do(t, "GET", path(id)+below, "", "Range", text); r.status != http.StatusOK {
						t.Errorf("%s of %s: %d %s", text, below, r.status, r.body)
					}
				}
			}
		}
		check(t, "behind the end", e.do(t, "GET", path(file)+"/result", "", "Range", "bytes=1000000-"), 416, taskhttp.ErrRange)
		if r := e.do(t, "GET", path(file)+"/result", "", "Range", "Bytes=0-1, 3-4"); r.status != http.StatusPartialContent {
			t.Errorf("two ranges: %d %s", r.status, r.body)
		}
	})
}

// The wait that a client prefers is found among other preferences, and what was applied is said.
func TestPreferences(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	for header, want := range map[string]string{
		"wait=1": "wait=1", "wait=1;foo=bar": "wait=1", "WAIT = 1 ; foo": "wait=1", "respond-async, wait=1": "wait=1", `wait="1"`: "wait=1",
		`foo="a, wait=9; \" wait=8", wait=1`: "wait=1", "foo; wait=9, wait=1": "wait=1", "wait=1, wait=50": "wait=1", ";, ,wait=1": "wait=1",
		"": "", "wait": "", "wait=": "", "wait=-1": "", "wait=x": "", "wait=1.5": "", "foo; wait=1": "", `"wait=1"`: "", "wait=0": "", "wait=99999999999999999999": "", "respond-async": "",
	} {
		j := e.do(t, "POST", startPath, `{"mode":"done"}`).job(t)
		// It is done at once, since it has another revision than the one that is given.
		r := e.do(t, "GET", path(j.ID)+"?since=000000000000.000000000000", "", "Prefer", header)
		if got := r.header.Get("Preference-Applied"); r.status != http.StatusOK || got != want {
			t.Errorf("Prefer: %s: %d, applied %q, want %q", header, r.status, got, want)
		}
		if r := e.do(t, "GET", path(j.ID)+"?maximumPollingPeriod=0s", "", "Prefer", header); r.header.Get("Preference-Applied") != "" {
			t.Errorf("Prefer: %s is applied beside a parameter", header)
		}
	}
}
