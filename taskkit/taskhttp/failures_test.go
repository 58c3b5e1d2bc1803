package taskhttp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// Failed items of several jobs become one job, for a caller who may retry each of them.
func TestMID45RetrySelectedJobs(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		first, second := submit(t, e, piecesKind, piecesSpec{[]string{"a", "bad 1", "bad 2"}}), submit(t, e, piecesKind, piecesSpec{[]string{"bad 3", "bad 1"}})
		for _, id := range []taskkit.ID{first, second} {
			e.reach(t, id, taskhttp.Succeeded)
		}
		other := submit(t, e.as(uuid.New()), piecesKind, piecesSpec{[]string{"bad 1"}})
		body := fmt.Sprintf(`{"jobs":["%s","%s"],"reason":"once more"}`, first, second)
		r := e.do(t, "POST", "/jobs/retry-failed", body)
		if r.status != http.StatusAccepted && r.status != http.StatusOK {
			t.Fatalf("retry: %d %s", r.status, r.body)
		}
		j := r.job(t)
		e.reach(t, j.ID, taskhttp.Succeeded)
		page := e.do(t, "GET", path(j.ID)+"/items", "")
		for item, source := range map[string]taskkit.ID{"bad 3": second, "bad 1": second, "bad 2": first} {
			if want := fmt.Sprintf(`{"item":%q,"outcome":"failed","code":"broken","source":"%s"}`, item, source); !strings.Contains(page.body, want) {
				t.Errorf("the items are %s, want %s", page.body, want)
			}
		}
		if again := e.do(t, "POST", "/jobs/retry-failed", body); again.header.Get("Idempotent-Replayed") != "true" || again.job(t).ID != j.ID {
			t.Errorf("again: %d %s", again.status, again.body)
		}
		for name, tc := range map[string]struct {
			body string
			want error
		}{
			"no jobs":             {`{"jobs":[]}`, taskhttp.ErrBadParameter},
			"times in reverse":    {fmt.Sprintf(`{"jobs":["%s"],"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`, first), taskhttp.ErrBadParameter},
			"another's job":       {fmt.Sprintf(`{"jobs":["%s","%s"]}`, first, other), taskhttp.ErrNoSuchJob},
			"an unknown job":      {fmt.Sprintf(`{"jobs":["%s"]}`, uuid.New()), taskhttp.ErrNoSuchJob},
			"a code of no item":   {fmt.Sprintf(`{"jobs":["%s"],"codes":["none"]}`, first), taskhttp.ErrNotPossible},
			"what is no body":     {`[]`, taskhttp.ErrNotJSON},
			"an item of no other": {fmt.Sprintf(`{"jobs":["%s"],"items":["a"]}`, first), taskhttp.ErrNotPossible},
		} {
			if p := e.do(t, "POST", "/jobs/retry-failed", tc.body).problem(t); !errors.Is(p, tc.want) {
				t.Errorf("%s: %v, want %v", name, p, tc.want)
			}
		}
	})
}

// What became of an item is listed for who may list the items of each job.
func TestMID44ItemHistoryOfJobs(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		other := e.as(uuid.New())
		var ids []taskkit.ID
		for n, by := range []*env{e, other, e} {
			id := submit(t, by, piecesKind, piecesSpec{[]string{"bad", fmt.Sprint(n)}})
			by.reach(t, id, taskhttp.Succeeded)
			ids = append(ids, id)
		}
		for query, want := range map[string][]taskkit.ID{
			"item=%22bad%22":                       {ids[2], ids[0]},
			"item=%22bad%22&kind=pieces&limit=1":   {ids[2]},
			"item=%22bad%22&kind=work":             nil,
			"item=%22bad%22&age=1h&kind=pieces":    {ids[2], ids[0]},
			"item=%22bad%22&age=1ns":               nil,
			"item=7":                               nil,
			"item=bad":                             {ids[2], ids[0]},
			"item=":                                nil,
			"item=%22bad%22&kind=pieces&limit=100": {ids[2], ids[0]},
		} {
			r := e.do(t, "GET", "/jobs/items?"+query, "")
			var h taskhttp.ItemHistory
			if err := json.Unmarshal([]byte(r.body), &h); err != nil || r.status != http.StatusOK {
				t.Fatalf("%s: %d %s (%v)", query, r.status, r.body, err)
			}
			var got []taskkit.ID
			for _, record := range h.Records {
				if got = append(got, record.Job); record.Code != "broken" || record.At.IsZero() || string(record.Item.Item) != `"bad"` {
					t.Errorf("%s: %+v", query, record)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: records of %v, want %v", query, got, want)
			}
		}
		for _, query := range []string{"", "item=1&limit=101", "item=1&age=old", "item=1&who=me"} {
			if p := e.do(t, "GET", "/jobs/items?"+query, "").problem(t); !errors.Is(p, taskhttp.ErrBadParameter) {
				t.Errorf("%q: %v", query, p)
			}
		}
	})
}
