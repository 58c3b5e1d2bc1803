package taskhttp_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// A schedule is set, read, paused, resumed, triggered and deleted, and says who did it.
func TestSchedules(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		e.reach(t, e.start(t, done).ID, taskhttp.Succeeded) // so there is a worker that knows the kind
		const self = "/schedules/nightly"
		owner := uuid.New()
		body := `{"kind":"work","spec":{"mode":"done","token":"` + secretMarker + `"},"cron":"30 2 * * *","zone":"Europe/Oslo","misfire":"all","queue":"unserved","priority":3,"owner":"` + owner.String() + `"}`
		s := listed[taskhttp.Schedule](t, e.operate(t, "PUT", self, body))
		if s.Name != "nightly" || s.Kind != "work" || s.Cron != "30 2 * * *" || s.Zone != "Europe/Oslo" || s.Misfire != taskops.MisfireAll || s.Queue != "unserved" ||
			s.Priority != taskkit.PriorityLow || s.Owner != owner || s.RunAs != owner || s.CreatedBy != e.person || s.ModifiedBy != e.person || len(s.Fires) != 5 || s.Next == nil {
			t.Errorf("set: %+v", s)
		}
		if s.Spec != nil {
			t.Errorf("its spec is shown though its secrets are not known: %s", s.Spec)
		}
		person := e.person
		e = e.as(uuid.New())
		s = listed[taskhttp.Schedule](t, e.operate(t, "PUT", self, `{"cron":"@every 90m","zone":"UTC"}`))
		if s.Cron != "@every 90m" || s.Zone != "UTC" || s.Misfire != taskops.MisfireAll || s.Owner != owner || s.CreatedBy != person || s.ModifiedBy != e.person {
			t.Errorf("changed: %+v", s)
		}
		s = listed[taskhttp.Schedule](t, e.operate(t, "POST", self+"/pause", `{"reason":"the mail server is being replaced"}`))
		if !s.Paused || s.PausedBy != e.person || s.PausedReason != "the mail server is being replaced" {
			t.Errorf("paused: %+v", s)
		}
		if s = listed[taskhttp.Schedule](t, e.operate(t, "POST", self+"/pause", "")); s.PausedReason == "" {
			t.Errorf("paused again: %+v", s)
		}
		r := e.operate(t, "POST", self+"/trigger", `{"reason":"try"}`)
		if r.status != 202 || !strings.Contains(r.body, `"triggered":true`) {
			t.Errorf("triggered: %d %s", r.status, r.body)
		}
		if s = listed[taskhttp.Schedule](t, e.operate(t, "POST", self+"/resume", "")); s.Paused || s.PausedBy != uuid.Nil {
			t.Errorf("resumed: %+v", s)
		}
		r = e.operate(t, "GET", self, "")
		if again := e.operate(t, "GET", self, "", "If-None-Match", r.header.Get("ETag")); r.status != 200 || again.status != 304 && again.header.Get("ETag") == r.header.Get("ETag") {
			t.Errorf("read: %d %s, and with its tag %d", r.status, r.body, again.status)
		}
		check(t, "delete", e.operate(t, "DELETE", self, ""), 204, nil)
		check(t, "delete again", e.operate(t, "DELETE", self, ""), 404, taskhttp.ErrNoSuchSchedule)
	})
}

// Schedules are listed by name, page by page, and their secrets are masked.
func TestScheduleList(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		if r := e.operate(t, "GET", "/schedules", ""); r.body != "{\"schedules\":[]}\n" {
			t.Errorf("no schedules: %s", r.body)
		}
		for _, name := range []string{"c", "a", "e", "d", "b"} {
			e.nightly(t, name)
		}
		var names strings.Builder
		for next := "/schedules?limit=2"; next != ""; {
			r := e.operate(t, "GET", next, "")
			page := listed[taskhttp.SchedulePage](t, r)
			for _, s := range page.Schedules {
				names.WriteString(s.Name)
				if !strings.Contains(string(s.Spec), `"mode":"done"`) {
					t.Errorf("the spec is %s", s.Spec)
				}
			}
			if next = ""; page.Next != "" {
				next = "/schedules?cursor=" + page.Next + "&limit=2"
				if link := r.header.Get("Link"); link != "</jobs/operator"+next+`>; rel="next"` {
					t.Errorf("link %s", link)
				}
			}
		}
		if names.String() != "abcde" {
			t.Errorf("listed %s", names.String())
		}
	})
}

// What cannot be is refused with a pointer to it, in the words of the client of Go.
func TestRefusedSchedules(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.nightly(t, "s")
		for body, want := range map[string][]string{
			`{"cron":"61 * * * *"}`:                      {"/cron"},
			`{"cron":"0 0 30 2 *"}`:                      {"/cron"},
			`{"cron":"* * * * * *"}`:                     {"/cron"},
			`{"zone":"Mars/Olympus"}`:                    {"/zone"},
			`{"zone":"Local"}`:                           {"/zone"},
			`{"cron":"@every 90m","zone":"Europe/Oslo"}`: {"/zone"},
			`{"misfire":"never"}`:                        {"/misfire"},
			`{"kind":"nobody_knows"}`:                    {"/kind"},
			`{"kind":"No Kind"}`:                         {"/kind"},
			`{"spec":[]}`:                                {"/spec"},
			`{"spec":1}`:                                 {"/spec"},
			`{"queue":""}`:                               {"/queue"},
			`{"queue":"No Queue","priority":0}`:          {"/queue", "/priority"},
			`{"priority":5}`:                             {"/priority"},
			`{"owner":"` + uuid.Nil.String() + `"}`:      {"/owner"},
			`{"runAs":"` + uuid.Nil.String() + `"}`:      {"/runAs"},
			`{"priority":9223372036854775807,"runAs":null,"cron":"0 5 * * *"}`: {"/priority"},
		} {
			r := e.operate(t, "PUT", "/schedules/s", body)
			check(t, body, r, 422, taskhttp.ErrSchedule)
			var pointers []string
			for _, p := range r.problem(t).Errors {
				pointers = append(pointers, p.Pointer)
				if p.Detail == "" {
					t.Errorf("%s: %s", body, r.body)
				}
			}
			if strings.Join(pointers, " ") != strings.Join(want, " ") {
				t.Errorf("%s: the pointers are %q, want %q", body, pointers, want)
			}
		}
		if p := e.operate(t, "PUT", "/schedules/No", `{}`).problem(t); p.Detail == "" || p.Errors != nil {
			t.Errorf("a name that cannot be: %+v", p)
		}
		if s, err := taskops.New(e.client).Schedule(t.Context(), "s"); err != nil || s.Version != 1 {
			t.Errorf("it has changed: %+v, %v", s, err)
		}
	})
}
