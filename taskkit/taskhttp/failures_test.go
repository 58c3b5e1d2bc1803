package taskhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// Failed items of several jobs become one job, for who may retry those of each.
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
			if want := fmt.Sprintf(`{"item":%q,"outcome":"failed","code":"broken","source":"%s"}`, item, source); !strings.Contains(string(page.body), want) {
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
