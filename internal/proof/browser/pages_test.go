package browser_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// prefix is the path of the dashboard.
const prefix = "/tasks/"

// visits are the pages that a person has reached.
type visits struct {
	*tab

	deep  bool            // in every appearance, and not in the present one alone
	queue []string        // paths to visit, below the site
	known map[string]bool // shapes of paths that were queued
	seen  []string        // paths below the dashboard that were visited
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// add queues a page for which none of the same shape was queued: another task, time or cursor is the same shape.
func (v *visits) add(path string) {
	u, err := url.Parse(path)
	if err != nil {
		v.Errorf("a link to %q: %v", path, err)
		return
	}
	shape := ids.ReplaceAllString(u.Path, "ID")
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range u.Query() {
			if !yield(name) {
				return
			}
		}
	}) {
		shape += " " + name
	}
	if strings.HasSuffix(u.Path, ".csv") || v.known[shape] {
		return
	}
	v.known[shape] = true
	// The page must not be another one while it is checked.
	v.queue = append(v.queue, strings.Replace(path, "refresh=5", "refresh=3600", 1))
}

// walk visits the queued pages and all to which they link.
func (v *visits) walk() {
	v.Helper()
	for len(v.queue) > 0 {
		path := v.queue[0]
		v.queue = v.queue[1:]
		v.open(path)
		v.check(path)
		u, _ := url.Parse(path)
		v.seen = append(v.seen, strings.TrimPrefix(u.Path, prefix))
		for _, link := range must[[]string](v.tab, `[...document.querySelectorAll("a[href]")].map(a => a.href)`) {
			if to, ours := strings.CutPrefix(link, v.site); ours && strings.HasPrefix(to, prefix) && !strings.Contains(to, "#") {
				v.add(to)
			}
		}
	}
}

// check checks the page that is open, as all people see it.
func (v *visits) check(where string) {
	v.Helper()
	if !v.deep {
		v.axe(where, "")
		return
	}
	for _, width := range []int64{360, 1440} {
		for _, dark := range []bool{false, true} {
			l := appearance{dark, width, v.script}
			v.resize(l)
			rules := ""
			switch {
			case dark:
				rules = ofColours
			case !v.script && width < 500:
				rules = ofWidth
			}
			v.axe(where+" "+l.String(), rules)
		}
	}
}

// All pages of the dashboard, all pages to which they link, and the pages of errors: in light and dark, narrow and wide, with and without
// JavaScript, nothing is found by axe-core, breaks the policy, goes elsewhere or is complained of by the browser.
func TestPages(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		roots := s.seed(t)
		for _, script := range []bool{true, false} {
			name := "script"
			if !script {
				name = "no-script"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				v := visits{tab: s.tab(t, appearance{width: 1440, script: script}), known: map[string]bool{}, deep: s.db.Short() == "sqlite"}
				v.add(prefix)
				v.queue = append(v.queue, roots...)
				v.walk()
				if left := unvisited(t, v.seen); len(left) > 0 {
					t.Errorf("no page links to %q, or this test has no data with which one does", left)
				}
				for _, p := range []struct {
					path, person string
					status       int
				}{
					{prefix + "nowhere", admin, http.StatusNotFound},
					{prefix + "task/0192f0c1-0000-7000-8000-000000000000", admin, http.StatusNotFound},
					{"/elsewhere", admin, http.StatusNotFound},
					{prefix, stranger, http.StatusUnauthorized},
					{prefix, nothing, http.StatusForbidden},
				} {
					v.as(p.person)
					v.openWith(p.path, p.status)
					v.check(p.path + " of " + p.person)
				}
			})
		}
	})
}

// seed makes tasks of each shape and returns their pages.
func (s *site) seed(t *testing.T) []string {
	t.Helper()
	s.work(t)
	list := enrolSpec{Students: students(30, "ee", "ff", "ff"), Program: "chess"}
	all := []taskkit.ID{
		submit(t, s, enrolKind, admin, list, taskkit.WithReason("the new term <b>begins</b>")),
		submit(t, s, enrolKind, owner, enrolSpec{Students: students(5), Program: "broken"}),
		submit(t, s, enrolKind, admin, list, taskkit.WithPreview()),
		submit(t, s, halvesKind, admin, struct{}{}),
	}
	for _, id := range all {
		s.ended(t, id)
	}
	waiting := submit(t, s, enrolKind, admin, list, taskkit.WithDelay(time.Hour), taskkit.WithLimit("tenant//7?&", 1))
	for name, cron := range map[string]string{"nightly": "30 2 * * *", "rare": "0 0 29 2 *"} {
		if err := taskops.SetSchedule(t.Context(), s.db.DB, enrolKind, name, list, taskops.Schedule{Cron: cron, Zone: "Europe/Oslo"}, taskkit.WithSchema(s.schema)); err != nil {
			t.Fatal(err)
		}
	}
	paused := submit(t, s, enrolKind, admin, list, taskkit.WithDelay(time.Hour))
	if _, err := s.client.Pause(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	approval := submit(t, s, enrolKind, colleague, list, taskkit.WithApproval())
	s.until(t, "the task waits for approval", func() bool {
		task, err := s.client.Task(t.Context(), approval)
		return err == nil && task.Control == taskkit.ControlPause
	})
	paths := []string{prefix + "task/" + waiting.String() + "/stop", prefix + "list?q=colour%3Ared"}
	long := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3000), Program: "chess"}, taskkit.WithDelay(time.Hour)) // not shown in full
	for _, id := range append(all, waiting, paused, approval, long) {
		paths = append(paths, prefix+"task/"+id.String())
	}
	return paths
}
