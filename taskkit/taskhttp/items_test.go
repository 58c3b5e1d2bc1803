package taskhttp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// ended starts a job over some pieces and returns it when it has ended.
func (e *env) ended(tb testing.TB, pieces ...string) taskhttp.Job {
	tb.Helper()
	r := e.do(tb, "POST", piecesPath, `{"pieces":["`+strings.Join(pieces, `","`)+`"]}`)
	return e.reach(tb, r.job(tb).ID, taskhttp.Succeeded)
}

// Items are listed in each media type, without what is for operators.
func TestItems(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.ended(t, "a", "bad, \u00fc", "odd", "b", "bad2")
		list := j.Links["items"].Href
		if list != path(j.ID)+"/items" {
			t.Fatalf("links %v", j.Links)
		}
		for _, c := range []struct{ query, accept, mediaType, want string }{
			{"", "", "application/json", `{"items":[{"item":"bad, ü","outcome":"failed","code":"broken"},{"item":"bad2","outcome":"failed","code":"broken"}]}` + "\n"},
			{"?outcome=skipped", "*/*", "application/json", `{"items":[{"item":"odd","outcome":"skipped","code":"unwanted"}]}` + "\n"},
			{"?outcome=succeeded", "application/*;q=0.1, application/x-ndjson", "application/x-ndjson", `{"item":"a","outcome":"succeeded"}` + "\n" + `{"item":"b","outcome":"succeeded"}` + "\n"},
			{"?outcome=failed", "text/csv", "text/csv; charset=utf-8", "item,outcome,code\n\"\"\"bad, ü\"\"\",failed,broken\n\"\"\"bad2\"\"\",failed,broken\n"},
			{"?outcome=unprocessed", "text/html, */*;q=0.5", "application/json", `{"items":[]}` + "\n"},
			{"?outcome=deferred", "text/*", "text/csv; charset=utf-8", "item,outcome,code\n"},
		} {
			r := e.do(t, "GET", list+c.query, "", "Accept", c.accept)
			if r.status != 200 || r.body != c.want || r.header.Get("Content-Type") != c.mediaType || r.header.Get("Link") != "" {
				t.Errorf("%s as %s: %d %v\n%s\nwant %s", c.query, c.accept, r.status, r.header, r.body, c.want)
			}
			leaksNothing(t, c.query, r)
		}
		check(t, "picture", e.do(t, "GET", list, "", "Accept", "image/png"), 406, taskhttp.ErrNotAcceptable)
		check(t, "refused type", e.do(t, "GET", list, "", "Accept", "*/*;q=0"), 406, taskhttp.ErrNotAcceptable)
		for _, q := range []string{"outcome=gone", "limit=0", "limit=10001", "cursor=1", "cursor=f" + strings.Repeat("0", 79), "detail=1"} {
			check(t, q, e.do(t, "GET", list+"?"+q, ""), 400, taskhttp.ErrBadParameter)
		}
		check(t, "another person", e.as(uuid.New()).do(t, "GET", list, ""), 404, taskhttp.ErrNoSuchJob)
		untargeted := e.reach(t, e.start(t, done).ID, taskhttp.Succeeded)
		check(t, "not recorded", e.do(t, "GET", path(untargeted.ID)+"/items?outcome=succeeded", ""), 409, taskhttp.ErrNotPossible)
	})
}

// Pages follow one another by their links, and each item is in one of them.
func TestPagesOfItems(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		var pieces []string
		for n := range 25 {
			pieces = append(pieces, fmt.Sprintf("%s%d", []string{"bad", "odd", "good"}[n%3], n))
		}
		j := e.ended(t, pieces...)
		for _, outcome := range []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeSucceeded} {
			var want, got []string
			for i, err := range e.client.Items(t.Context(), j.ID, outcome) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, i.Text())
			}
			for next := path(j.ID) + "/items?limit=2&outcome=" + string(outcome); next != ""; {
				r := e.do(t, "GET", next, "")
				var page taskhttp.ItemsPage
				decode(t, r.body, &page)
				if r.status != 200 || len(page.Items) == 0 || len(page.Items) > 2 {
					t.Fatalf("%s: %d %s", next, r.status, r.body)
				}
				for _, i := range page.Items {
					got = append(got, strings.Trim(string(i.Item), `"`))
				}
				link := r.header.Get("Link")
				next = strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<")
				if (link == "") != (page.Next == "") || !strings.Contains(next, page.Next) {
					t.Errorf("link %q, next %q", link, page.Next)
				}
			}
			if len(want) < 8 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", outcome, got, want)
			}
		}
		client := e.caller()
		n := 0
		for i, err := range client.Items(t.Context(), j.ID, taskkit.OutcomeFailed) {
			if err != nil || i.Code != "broken" {
				t.Errorf("%+v, %v", i, err)
			}
			n++
		}
		if n != 9 {
			t.Errorf("%d items, want 9", n)
		}
	})
}
