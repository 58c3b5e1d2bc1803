package taskhttp_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// calls are all calls of a job.
var calls = []struct{ method, below, body string }{
	{"GET", "", ""},
	{"GET", "?maximumPollingPeriod=1ms&progressPeriod", ""},
	{"GET", "?maximumPollingPeriod=-1s", ""},
	{"HEAD", "", ""},
	{"GET", "/result", ""},
	{"HEAD", "/result", ""},
	{"GET", "/items", ""},
	{"GET", "/items?outcome=unprocessed&limit=1", ""},
	{"GET", "/items?cursor=1", ""},
	{"HEAD", "/items", ""},
	{"GET", "/preview", ""},
	{"POST", "/stop", ""},
	{"POST", "/pause", `{"reason":"x"}`},
	{"POST", "/pause", `{`},
	{"POST", "/resume", ""},
	{"POST", "/retry", ""},
	{"POST", "/approve", ""},
	{"PATCH", "", `{"priority":1}`},
	{"PATCH", "", `{"maxParallel":2}`},
	{"PATCH", "", `{"maxRate":1}`},
	{"PATCH", "", `{}`},
	{"DELETE", "", ""},
	{"DELETE", "?x=1", ""},
	{"PUT", "", ""},
}

// A job of another person is answered as one that does not exist, by every call, and is
// not changed.
func TestJobsOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		for _, j := range []taskhttp.Job{e.held(t, hold), e.reach(t, e.start(t, done).ID, taskhttp.Succeeded), e.reach(t, e.start(t, fail).ID, taskhttp.Failed)} {
			before := e.do(t, "GET", path(j.ID), "").job(t)
			other := e.as(uuid.New())
			for _, c := range calls {
				theirs := other.do(t, c.method, path(j.ID)+c.below, c.body)
				none := other.do(t, c.method, path(uuid.New())+c.below, c.body)
				theirs.header.Del("Date")
				none.header.Del("Date")
				if theirs.status != none.status || theirs.body != none.body || !maps.EqualFunc(theirs.header, none.header, slices.Equal) {
					t.Errorf("%s %s: %d %v %s, and of an unknown job %d %v %s", c.method, c.below, theirs.status, theirs.header, theirs.body, none.status, none.header, none.body)
				}
			}
			for _, q := range []string{"", "?cursor=" + j.ID.String(), "?kind=work&status=RUNNING"} {
				if r := other.do(t, "GET", "/jobs"+q, ""); r.body != "{\"jobs\":[]}\n" {
					t.Errorf("list of another person: %s", r.body)
				}
			}
			if after := e.do(t, "GET", path(j.ID), "").job(t); after.Revision != before.Revision {
				t.Errorf("changed from %+v to %+v", before, after)
			}
		}
	})
}

// What somebody may see but not do is 403, and not among the links.
func TestOperationsAreAuthorizedOneByOne(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) {
			c.Authorize = func(_ context.Context, _ taskhttp.Caller, op taskhttp.Operation, _ *taskkit.Task) error {
				if op == taskhttp.OpWatch || op == taskhttp.OpStart {
					return nil
				}
				return http.ErrNotSupported
			}
		})
		e.runWorker(t)
		j := e.held(t, hold)
		if got := e.do(t, "GET", path(j.ID), "").job(t); len(got.Links) != 1 {
			t.Errorf("links %v", got.Links)
		}
		for _, c := range calls {
			if c.below == "/result" && c.method == "GET" || c.method == "POST" || c.method == "PATCH" || c.method == "DELETE" && c.below == "" {
				check(t, c.method+c.below, e.do(t, c.method, path(j.ID)+c.below, c.body), 403, taskhttp.ErrForbidden)
			}
		}
		check(t, "list", e.do(t, "GET", "/jobs", ""), 403, taskhttp.ErrForbidden)
	})
}

// Neither state nor the detail of errors nor secrets are in any answer (SSP-32).
func TestNoAnswerHasWhatIsPrivate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		for _, mode := range []string{done, fail, hold} {
			r := e.do(t, "POST", startPath, `{"mode":"`+mode+`","token":"`+secretMarker+`"}`)
			leaksNothing(t, "start", r)
			id := r.job(t).ID
			switch mode {
			case done:
				e.reach(t, id, taskhttp.Succeeded)
			case fail:
				e.reach(t, id, taskhttp.Failed)
			default:
				e.batch(t, id)
			}
			stored, err := e.client.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if mode == fail && stored.StatusDetail == "" || mode == done && len(stored.StateJSON) < len(stateMarker) {
				t.Errorf("the markers are not stored: %+v", stored)
			}
			for _, c := range calls {
				leaksNothing(t, mode+c.method+c.below, e.do(t, c.method, path(id)+c.below, c.body))
				leaksNothing(t, mode+"list", e.do(t, "GET", "/jobs", ""))
			}
		}
	})
}

// Lists have the caller's jobs, page by page and by status.
func TestList(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		var ids []taskkit.ID
		for range 5 {
			ids = append(ids, e.start(t, done).ID)
		}
		slices.Reverse(ids)
		e.as(uuid.New()).start(t, done)
		var got []taskkit.ID
		next := "/jobs?limit=2"
		for next != "" {
			r := e.do(t, "GET", next, "")
			var page taskhttp.Page
			decode(t, r.body, &page)
			for _, j := range page.Jobs {
				got = append(got, j.ID)
			}
			link := r.header.Get("Link")
			if next = ""; page.Next != "" {
				next = "/jobs?limit=2&cursor=" + page.Next
				if link != "</jobs?cursor="+page.Next+`&limit=2>; rel="next"` {
					t.Errorf("link %s", link)
				}
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("listed %v, want %v", got, ids)
		}
		for query, want := range map[string]int{"status=QUEUING": 5, "status=SUCCEEDED": 0, "status=STOPPING": 0, "status=DELETED": 0, "kind=work": 5, "kind=other": 0} {
			var page taskhttp.Page
			decode(t, e.do(t, "GET", "/jobs?"+query, "").body, &page)
			if len(page.Jobs) != want {
				t.Errorf("%s: %d jobs, want %d", query, len(page.Jobs), want)
			}
		}
	})
}
