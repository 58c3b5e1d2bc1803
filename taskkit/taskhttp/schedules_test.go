package taskhttp_test

import (
	"maps"
	"strings"
	"testing"
	"time"

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

// A schedule over HTTP has every option that one has in Go, what is left out stays, and Go reads the same.
func TestScheduleOptions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.nightly(t, "s")
		const body = `{"overlap":"buffer","uniqueKey":"u","limits":{"b":3,"a":2},"timeLimitMs":90000,"window":"22:00-06:00 Europe/Oslo"}`
		for _, body := range []string{body, body, `{"priority":3}`} {
			s := listed[taskhttp.Schedule](t, e.operate(t, "PUT", "/schedules/s", body))
			if s.Overlap != taskops.OverlapBuffer || s.UniqueKey != "u" || !maps.Equal(s.Limits, map[string]int{"a": 2, "b": 3}) || s.TimeLimitMS != 90000 || s.Window != "22:00-06:00 Europe/Oslo" {
				t.Errorf("%s: %+v", body, s)
			}
		}
		s, err := taskops.New(e.client).Schedule(t.Context(), "s")
		if err != nil || s.Overlap != taskops.OverlapBuffer || s.UniqueKey != "u" || len(s.Limits) != 2 || s.TimeLimit != 90*time.Second || s.Window == "" || s.Version != 3 {
			t.Errorf("in Go: %+v, %v", s, err)
		}
		found := listed[taskhttp.ChangePage](t, e.operate(t, "GET", "/changes?setting=schedule&name=s&limit=1", "")).Changes
		if len(found) != 1 || found[0].Actor != e.person || found[0].From != `{"priority":2}` || found[0].To != `{"priority":3}` {
			t.Errorf("the last change is %+v", found)
		}
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

// What the body leaves out stays as it is, also as whom the jobs run when the owner becomes another.
func TestScheduleRunAsStays(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.nightly(t, "s")
		ann, ben, eve := uuid.New(), uuid.New(), uuid.New()
		for _, c := range []struct {
			body         string
			owner, runAs uuid.UUID
		}{
			{`{"owner":"` + ann.String() + `"}`, ann, taskkit.SystemOwner},
			{`{"runAs":"` + ben.String() + `"}`, ann, ben},
			{`{"owner":"` + eve.String() + `"}`, eve, ben},
			{`{"priority":3}`, eve, ben},
		} {
			s := listed[taskhttp.Schedule](t, e.operate(t, "PUT", "/schedules/s", c.body))
			if s.Owner != c.owner || s.RunAs != c.runAs {
				t.Errorf("%s: owner %s, runs as %s; want %s and %s", c.body, s.Owner, s.RunAs, c.owner, c.runAs)
			}
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
			`{"overlap":"never"}`:                        {"/overlap"},
			`{"overlap":"skip","misfire":"all"}`:         {"/overlap"},
			`{"uniqueKey":""}`:                           {"/uniqueKey"},
			`{"limits":{"":1}}`:                          {"/limits"},
			`{"limits":{"a":0}}`:                         {"/limits"},
			`{"timeLimitMs":0}`:                          {"/timeLimitMs"},
			`{"timeLimitMs":-9223372036854775808}`:       {"/timeLimitMs"},
			`{"window":""}`:                              {"/window"},
			`{"window":"25:00-26:00"}`:                   {"/window"},
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
		// The spec is of a kind that the server may not have, and the key may be secret.
		r := e.operate(t, "PUT", "/schedules/s", `{"spec":{"a":{"key":"\u0000"}}}`)
		check(t, "a key of the spec", r, 400, taskhttp.ErrNotJSON)
		if p := r.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/spec/a/***" {
			t.Errorf("a key of the spec: %s", r.body)
		}
		if p := e.operate(t, "PUT", "/schedules/No", `{}`).problem(t); p.Detail == "" || p.Errors != nil {
			t.Errorf("a name that cannot be: %+v", p)
		}
		if s, err := taskops.New(e.client).Schedule(t.Context(), "s"); err != nil || s.Version != 1 {
			t.Errorf("it has changed: %+v, %v", s, err)
		}
	})
}
