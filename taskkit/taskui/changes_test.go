package taskui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// The page Changes says who has changed what and why, of a setting or of one name too.
func TestChanges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/changes", http.StatusOK).wants(t, "Nothing was changed.")
		e.schedule(t, "nightly", taskops.Schedule{Cron: "0 3 * * *"})
		e.operate(t, "/tasks/queues", "queues/pause", `name="queue"`, url.Values{"queue": {"mail"}, "reason": {hostile}})
		for _, key := range []string{"a//b?c=d&e", hostile} {
			if err := e.ops().SetLimit(t.Context(), key, 7, taskkit.WithReason("load")); err != nil {
				t.Fatal(err)
			}
		}
		a := e.page(t, "/tasks/changes", http.StatusOK)
		a.wants(t, "Ada Admin", shown, "<code>open</code>", "<code>paused</code>", "<code>7</code>", "nightly", "queue <a", "limit <a", "schedule <a", "unknown")
		a.lacks(t, hostile)
		limits := e.page(t, "/tasks/changes?setting=limit", http.StatusOK)
		limits.wants(t, "a//b?c=d&amp;e")
		limits.lacks(t, "nightly", "Ada Admin</bdi></td>")
		one := e.page(t, "/tasks/changes?"+url.Values{"setting": {"limit"}, "name": {hostile}}.Encode(), http.StatusOK)
		one.wants(t, shown, "only.", `href="./changes?setting=limit"`)
		one.lacks(t, "a//b")
		for _, query := range []string{"setting=x", "before=x", "name=" + strings.Repeat("x", 1001)} {
			e.page(t, "/tasks/changes?"+query, http.StatusNotFound)
		}
		e.page(t, "/tasks/changes?setting=queue&name=%00%ff", http.StatusOK).wants(t, "Nothing was changed.")
		e.refusesOthers(t, "changes")
	})
}

// The list of changes is read page by page, with its filter.
func TestChangesPages(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	if err := e.ops().PauseQueue(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	for i := range 51 {
		if err := e.ops().SetLimit(t.Context(), "k", i+1, taskkit.WithReason(fmt.Sprintf("change %02d", i))); err != nil {
			t.Fatal(err)
		}
	}
	first := e.page(t, "/tasks/changes?setting=limit&name=k", http.StatusOK)
	first.wants(t, "change 50", "change 01", `rel="next"`)
	first.lacks(t, "change 00")
	second := e.page(t, "/tasks/"+strings.TrimPrefix(unescape.Replace(firstOf(t, nextLink, first.body)), "./"), http.StatusOK)
	second.wants(t, "change 00")
	second.lacks(t, "change 01", "mail", `rel="next"`)
}
