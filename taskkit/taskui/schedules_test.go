package taskui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// schedule sets a schedule of the kind of these tests.
func (e *env) schedule(tb testing.TB, name string, s taskops.Schedule, opts ...taskkit.SubmitOption) {
	tb.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.WithSchema(e.schema()), taskkit.OwnedBy(e.people[operator].ID)}, opts...)
	if err := taskops.SetSchedule(tb.Context(), e.db.DB, opsKind, name, opsSpec{[]int{1, 2}}, s, opts...); err != nil {
		tb.Fatal(err)
	}
}

// exec changes rows as nothing else does.
func (e *env) exec(tb testing.TB, query string) {
	tb.Helper()
	prefix := ""
	if e.db.Schema != "" {
		prefix = e.db.Schema + "."
	}
	if _, err := e.db.ExecContext(tb.Context(), strings.ReplaceAll(query, "{s}", prefix)); err != nil {
		tb.Fatal(err)
	}
}

// The page Schedules has the next fires in the zone of each, its last outcome, and what is wrong with it; and it pauses, resumes, runs and deletes them.
func TestSchedules(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/schedules", http.StatusOK).wants(t, "There is no schedule.")

		e.schedule(t, "nightly", taskops.Schedule{Cron: "30 2 * * *", Zone: "Europe/Oslo"}, taskkit.WithQueue("default"), taskkit.WithLimit("a//b", 3), taskkit.WithWindow("00:00-24:00 UTC"))
		e.schedule(t, "rare", taskops.Schedule{Cron: "0 0 29 2 *"})
		a := e.page(t, "/tasks/schedules", http.StatusOK)
		a.wants(t, "<code>30 2 * * *</code> in Europe/Oslo", " 02:30</time>", "never yet", "queue default; limit a//b: 3; window 00:00-24:00 UTC", "&#34;people&#34;", `href="./list?q=kind%3Aops_demo"`)
		if n := strings.Count(a.body, " 02:30</time>"); n != 5 {
			t.Errorf("%d fires, want 5", n)
		}

		form := `value="nightly"`
		e.done(t, e.operate(t, "/tasks/schedules", "schedules/pause", form, url.Values{"reason": {hostile}})).wants(t, "The schedule is paused.", "Paused by Ada Admin: &lt;script&gt;", "if it is resumed")
		if s, err := e.ops().Schedule(t.Context(), "nightly"); err != nil || !s.Paused || s.PausedBy != e.people[admin].ID {
			t.Errorf("%+v, %v", s, err)
		}
		e.done(t, e.operate(t, "/tasks/schedules", "schedules/resume", form, nil)).wants(t, "The schedule goes on.")
		e.done(t, e.operate(t, "/tasks/schedules", "schedules/trigger", form, nil)).wants(t, "within seconds", "runs as soon as a worker takes it")
		stop := e.start(t, opsExecutor{})
		var last taskkit.ID
		for deadline := time.Now().Add(testdb.Patience(t)); last == (taskkit.ID{}) && time.Now().Before(deadline); {
			s, err := e.ops().Schedule(t.Context(), "nightly")
			if err != nil {
				t.Fatal(err)
			}
			last = s.LastTask
		}
		if _, err := e.client.Wait(t.Context(), last, nil); err != nil {
			t.Fatal(err)
		}
		stop()
		e.page(t, "/tasks/schedules", http.StatusOK).wants(t, "run by hand", `href="./task/`+last.String()+`"`, `<span class="status done">done</span>`)

		e.exec(t, "UPDATE {s}taskkit_schedule SET next_date = NULL, due_date = NULL, next_wall = NULL, cron = '0 0 30 2 *', last_error = '<i>no</i> such kind', last_error_date = created_date WHERE name = 'rare'")
		e.page(t, "/tasks/schedules", http.StatusOK).wants(t, "It never fires again.", ">never fires</span>", "&lt;i&gt;no&lt;/i&gt; such kind")

		if a := e.operate(t, "/tasks/schedules", "schedules/delete", form, nil); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "A reason is required") {
			t.Errorf("deletion without a reason: %d", a.status)
		}
		e.done(t, e.operate(t, "/tasks/schedules", "schedules/delete", form, url.Values{"reason": {"done with it"}})).lacks(t, "nightly")
		for _, name := range []string{"nightly", hostile, "a//b", "../../x"} {
			for _, verb := range []string{"pause", "resume", "trigger", "delete"} {
				a := e.do(t, http.MethodPost, "/tasks/schedules/"+verb, url.Values{"key": {"k" + name[:1]}, "reason": {"r"}, "schedule": {name}}.Encode())
				if a.status != http.StatusNotFound {
					t.Errorf("%s of a schedule %q: %d\n%s", verb, name, a.status, a.body)
				}
			}
		}
		e.refusesOthers(t, "schedules", "schedules/pause", "schedules/resume", "schedules/trigger", "schedules/delete")
	})
}

// The list of schedules is read page by page.
func TestSchedulesPages(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	for i := range 51 {
		e.schedule(t, fmt.Sprintf("s%02d", i), taskops.Schedule{Cron: "@daily"})
	}
	first := e.page(t, "/tasks/schedules", http.StatusOK)
	first.wants(t, "s49", `href="./schedules?after=s49" rel="next"`)
	first.lacks(t, "s50")
	second := e.page(t, "/tasks/schedules?after=s49", http.StatusOK)
	second.wants(t, "s50")
	second.lacks(t, "s49", `rel="next"`)
}
